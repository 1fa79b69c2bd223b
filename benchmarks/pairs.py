"""Cost per record of joins and alerts in the task core alone: decode, match, encode; no broker. Prints JSON.

python -m benchmarks.pairs --trips 100000 --batch 5000
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import WriterSchema
from app.codecs.batches.record_headers import RecordHeaders
from app.codecs.blobs import Blobs
from app.codecs.weaving import same
from app.domain.marker import InputPosition
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Either, Half, Join, JoinKind, Only, Side, Taken
from app.domain.records import Value
from app.domain.source import Column, Kind, Source, SourceTopic
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
from app.engine.core.task import TaskCore
from app.engine.drive.warm_up import GARBAGE_AFTER
from app.testkit.encoding import encode

SECOND_US = 1_000_000
TEXTS = (Column("trip_id", Kind.TEXT, False), Column("kind", Kind.TEXT, False))
PLACES = (Column("at_us", Kind.INSTANT, False), Column("zone", Kind.IDENTIFIER, True, 1, 265))
TRIPS = Source(1, "trips", (SourceTopic(1, "trips"),), "Trip", (*TEXTS, *PLACES), "trip_id", "at_us", "trip_id", 600)
COSTS = (Column("at_us", Kind.INSTANT, False), Column("cents", Kind.INTEGER, False, 0, 1_000_000))
PRICES = Source(
    2, "prices", (SourceTopic(2, "prices"),), "Price", (TEXTS[0], *COSTS), "trip_id", "at_us", "trip_id", 600
)
STARTS = Half(TRIPS, "trips", "trip_id", "at_us", Only("kind", ("START",)))
ENDS = Half(TRIPS, "trips", "trip_id", "at_us", Only("kind", ("END",)))
PRICED = Join(
    number=1,
    name="priced",
    left=STARTS,
    right=Half(PRICES, "prices", "trip_id", "at_us"),
    bound_seconds=3600,
    grace_seconds=600,
    columns=(
        Either("trip_id", "trip_id", "trip_id"),
        Taken("zone", Side.LEFT, "zone"),
        Taken("cents", Side.RIGHT, "cents"),
        Either("at_us", "at_us", "at_us"),
    ),
    key="trip_id",
    reported_at="at_us",
    output=SourceTopic(3, "trips.priced"),
    help="trips and their prices",
)
LONG = Alert(1, "long", STARTS, ENDS, 7200, 900, ("zone",), SourceTopic(4, "trips.long"), "trips over two hours")
SCHEMAS = {n: WriterSchema(n, json.dumps(record_schema(source))) for n, source in ((1, TRIPS), (2, PRICES))}


def batches(topic: str, records: Sequence[tuple[int, Mapping[str, Value]]], size: int) -> Iterator[Batch]:
    """Records (with their instants) as one topic-partition holds them, in order of time."""
    source = TRIPS if topic == "trips" else PRICES
    for base in range(0, len(records), size):
        some = records[base : base + size]
        yield Batch(
            topic=topic,
            partition=0,
            base_offset=base,
            next_offset=base + len(some),
            offsets=np.arange(base, base + len(some)),
            timestamps_ms=np.array([at // 1000 for at, _ in some], np.int64),
            keys=same(b"1", len(some)),
            values=Blobs.of(encode(source, source.number, values) for _, values in some),
            headers=RecordHeaders.none(len(some)),
        )


def trips(count: int) -> tuple[list[tuple[int, Mapping[str, Value]]], list[tuple[int, Mapping[str, Value]]]]:
    """Beginnings and ends, and prices: ten trips a second, one in a hundred over two hours, one in fifty unpriced."""
    draws, events = random.Random(1), list[tuple[int, Mapping[str, Value]]]()
    prices = list[tuple[int, Mapping[str, Value]]]()
    for n in range(count):
        began_us = n * SECOND_US // 10 + 1_767_589_200 * SECOND_US
        ended_us = began_us + draws.choice((300, 600, 1200) * 33 + (9000,)) * SECOND_US
        for kind, at_us in (("START", began_us), ("END", ended_us)):
            events.append((at_us, {"trip_id": f"{n:032x}", "kind": kind, "at_us": at_us, "zone": n % 265 + 1}))
        if n % 50:
            prices.append((began_us + 60 * SECOND_US, {"trip_id": f"{n:032x}", "at_us": began_us, "cents": n % 5000}))
    return sorted(events, key=lambda e: e[0]), prices


def measure(definition: TaskDefinition, given: Mapping[str, Sequence[Batch]]) -> dict[str, float | int]:
    """Processor time per record, upkeep included, and what came of it."""
    inputs = {topic: InputPosition("", 0, 0) for topic in definition.topics}
    core = TaskCore(definition, new_state(definition, 0, inputs))
    order = sorted(
        ((i / len(of), topic, batch) for topic, of in given.items() for i, batch in enumerate(of)), key=_first
    )
    records = sum(len(batch) for _, _, batch in order)
    outputs = written = most = 0
    started = time.process_time()
    for _, _, batch in order:
        transaction = core.plan(core.read([batch], SCHEMAS))
        while transaction is not None:
            outputs += len(transaction.outputs)
            written += sum(
                int(column.lengths.clip(0).sum())
                for column in (transaction.changelog.keys, transaction.changelog.values)
            )
            core.commit(transaction, 0)
            transaction = core.keep_up()
        most = max([most, *map(len, core.state.halves.values())])
    seconds = time.process_time() - started
    return {
        "records": records,
        "records_per_second": round(records / seconds),
        "outputs": outputs,
        "most_held": most,
        "changelog_bytes_per_record": round(written / records),
    }


def _first(of: tuple[float, str, Batch]) -> tuple[float, str]:
    return of[0], of[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trips", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=5_000)
    told = parser.parse_args()
    events, prices = trips(told.trips)
    given = {topic: list(batches(topic, of, told.batch)) for topic, of in (("trips", events), ("prices", prices))}
    ids = {"trips.priced": 3, "trips.long": 4}
    both = (TRIPS, PRICES)
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)  # as in a worker
    joins = {
        kind.value: TaskDefinition("b", both, (), (replace(PRICED, kind=kind),), schema_ids=ids) for kind in JoinKind
    }
    figures = {f"{kind} join": measure(definition, given) for kind, definition in joins.items()}
    watched = TaskDefinition("b", (TRIPS,), (), schema_ids=ids, alerts=(LONG,))
    figures["alert"] = measure(watched, {"trips": given["trips"]})
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
