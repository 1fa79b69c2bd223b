"""The widest door: what a topic may hold. A record has one fate, in the worker's blocks and by the naive rules."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from app.codecs.avro.column_arrays import Layout
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.avro.schema import Schemas, WriterSchema
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.event_time import NO_WATERMARK
from app.domain.records import Record
from app.domain.rules.admission import refusal
from app.domain.source import with_derived
from app.engine.core.batch import Batch
from app.engine.core.records.usable import Usable, usable_records
from app.rides.ride import RIDES
from tests.fuzz.door import Differs
from tests.fuzz.mutated import ODD_NUMBERS, mutated_bytes
from tests.support.material.histories import POISON, START_US, random_ride
from tests.support.material.schemas.foreign import FOREIGN, encode_as
from tests.support.material.schemas.versions import RIDE_VERSIONS

TOPIC = RIDES.topics[0].name
_FOREIGN = [json.loads(schema.schema_str or "") for schema in FOREIGN.values() if schema.schema_type == "AVRO"]
_DECLARED = [WriterSchema(number, json.dumps(one)) for number, one in enumerate([*RIDE_VERSIONS, *_FOREIGN], 1)]
SCHEMAS: Schemas = defaultdict(lambda: None, {schema.id: schema for schema in _DECLARED})
"""Four versions of ours, and those of others; whatever else is named is not there."""


class Sent(NamedTuple):
    timestamp_ms: int
    value: bytes | None


def draw_record(rng: random.Random) -> Sent:
    """A ride of some version, most often damaged; sometimes its timestamp or a number is out of bounds."""
    ride = random_ride(rng, rng.randrange(1 << 32), START_US)
    for name in rng.choices([n for n, v in ride.items() if isinstance(v, int)], k=rng.choice((0, 0, 0, 1, 2))):
        ride[name] = rng.choice([n for n in ODD_NUMBERS if abs(n) < 2**63])
    if rng.random() < 0.02:
        ride["vendor"] = "v" * rng.choice((65_535, 65_536, 200_000))
    timestamp_ms = START_US // 1000 if rng.random() < 0.9 else rng.choice((-1, 0, 2**40, 2**62, START_US))
    if rng.random() < 0.01:
        return Sent(timestamp_ms, rng.choice(POISON))
    schema = _DECLARED[rng.randrange(len(RIDE_VERSIONS))]
    value = encode_as(schema.id, schema.declared, ride)
    if rng.random() < 0.85:
        value = mutated_bytes(rng, value, [value])
    return Sent(timestamp_ms, value)


def fates(some: Sequence[Sent]) -> list[str]:
    """Reasons, or `used`, by the worker's own path through a batch. Differs where the naive rules say otherwise."""
    usable, told = _by_worker(some, SCHEMAS)
    columns = iter(usable.frame.to_dicts())
    for at, one in enumerate(some):
        expected, values = naive(at, one)
        if told[at] != expected:
            raise Differs(f"the worker says {told[at]}, the rules say {expected}")
        if told[at] == "used" and (read := next(columns)) != {name: values[name] for name in read}:
            raise Differs(f"the worker reads {read}, the rules {values}")
    return [fate.partition(":")[0] for fate in told]


def told_by_worker(some: Sequence[Sent], schemas: Schemas) -> list[str]:
    """Reason or `used` of each record of a batch."""
    return _by_worker(some, schemas)[1]


def _by_worker(some: Sequence[Sent], schemas: Schemas) -> tuple[Usable, list[str]]:
    offsets = np.arange(len(some))
    batch = Batch(
        topic=TOPIC,
        partition=0,
        base_offset=0,
        next_offset=len(some),
        offsets=offsets,
        timestamps_ms=np.array([one.timestamp_ms for one in some], np.int64),
        keys=[None] * len(some),
        values=[one.value for one in some],
        headers=[()] * len(some),
    )
    usable, refused = usable_records(RIDES, batch, NO_WATERMARK, schemas)
    reasons = dict(refused)
    return usable, [reasons.get(at, "used") for at in range(len(some))]


def naive(offset: int, sent: Sent, schemas: Schemas = SCHEMAS) -> tuple[str, dict[str, object]]:
    """Reason or `used`, and the columns, by the rules as they are written down."""
    told = _STRICT.decode(sent.value, schemas)
    if isinstance(told, Unreadable):
        return told.reason, {}
    values = with_derived(RIDES, told)
    return refusal(RIDES, Record(TOPIC, 0, offset, sent.timestamp_ms, told), values) or "used", dict(values)


_STRICT = StrictDecoder(RIDES.columns)


def fates_under(values: Sequence[bytes], schemas: Schemas) -> None:
    """Differs where a block of values under these schemas is not read as each of them alone."""
    strict = [StrictDecoder(RIDES.columns).decode(value, schemas) for value in values]
    found = BlockDecoder(Layout(RIDES.columns)).decode(Packed(list(values)), schemas)
    refused = [(at, told.reason) for at, told in enumerate(strict) if isinstance(told, Unreadable)]
    if found.refused != refused or found.frame.to_dicts() != [t for t in strict if not isinstance(t, Unreadable)]:
        raise Differs(f"a block is refused {found.refused}, its values alone {refused}")
