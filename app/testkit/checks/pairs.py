"""What joins and alerts have sent on, and their ledgers, against their naive folds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from app.base import names
from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.codecs.batches.origin_headers import (
    JOIN,
    SIDE,
)
from app.domain.marker import Fates
from app.domain.oracle.alert_fold import Alerted, ToldAlert
from app.domain.oracle.join_fold import Joined
from app.domain.pairs.alert import AT_OFFSET, BEGAN_AT, END_ORIGIN, ENDED_AT, START_ORIGIN, TOLD_AT, Alert
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN, Join, Side
from app.domain.pairs.pairing import Pairing
from app.domain.records import Value
from app.domain.source import with_derived
from app.testkit.checks.expected import Expected
from app.testkit.checks.written import Settled, as_refused, fact_place, multiset_problems, written
from app.testkit.simulation.world import APPLICATION, World


def join_problems(world: World, settled: Settled, join: Join) -> Iterator[str]:
    joined: Counter[Any] = Counter()
    unmatched: Counter[Any] = Counter()
    for state, expected in settled:
        wanted = expected.joined(join)
        joined.update(_joined_values(expected, join, *pair) for pair in wanted.pairs)
        if join.kind.may_lack(Side.RIGHT):
            joined.update(_joined_values(expected, join, origin, None) for origin in wanted.unmatched[Side.LEFT])
        if join.kind.may_lack(Side.LEFT):
            joined.update(_joined_values(expected, join, None, origin) for origin in wanted.unmatched[Side.RIGHT])
        for side in Side:
            facts = (expected.inside[fact_place(expected, origin)] for origin in wanted.unmatched[side])
            unmatched.update(as_refused(fact, (JOIN, join.name), (SIDE, str(side))) for fact in facts)
        position = state.marker.joins[join.name]
        if position.joined != len(wanted.pairs):
            yield f"{position.joined} joined in the ledger, not {len(wanted.pairs)}"
        for topic in join.topics:
            yield from _fate_problems(expected, topic, wanted, position.fates)
    yield from multiset_problems("joined", joined, _sent_on(world, join))
    told = written(world, names.unmatched_topic(APPLICATION)).elements()
    mine = Counter(record for record in told if (JOIN, join.name.encode()) in record[2])
    yield from multiset_problems("unmatched", unmatched, mine)


def alert_problems(world: World, settled: Settled, alert: Alert) -> Iterator[str]:
    alerted: Counter[Any] = Counter()
    for state, expected in settled:
        wanted = expected.alerted(alert)
        alerted.update(_alert_values(expected, alert, told) for told in wanted.told)
        position = state.marker.alerts[alert.name]
        if position.told != len(wanted.told):
            yield f"{position.told} told in the ledger, not {len(wanted.told)}"
        yield from _fate_problems(expected, alert.topic, wanted, position.fates)
    yield from multiset_problems("alert", alerted, _sent_on(world, alert))


def _fate_problems(
    expected: Expected, topic: str, wanted: Joined | Alerted, fates: Mapping[str, Fates]
) -> Iterator[str]:
    by_fate = (wanted.applied, wanted.late, wanted.out_of_scope, wanted.duplicates)
    counts = Fates(*(sum(fact_place(expected, origin)[0] == topic for origin in each) for each in by_fate))
    if fates.get(topic, Fates()) != counts:
        yield f"{topic}: {fates.get(topic)} in the ledger, not {counts}"


def _sent_on(world: World, of: Pairing) -> Counter[Any]:
    schema = WriterSchema(world.definition.schema_ids[of.output.name], json.dumps(record_schema(of.source)))
    strict, told = StrictDecoder(of.source.columns), written(world, of.output.name).elements()
    return Counter(_comparable(strict.decode(value, {schema.id: schema})) for _, value, _ in told)


def _joined_values(expected: Expected, join: Join, left: int | None, right: int | None) -> Any:
    halves = (None if origin is None else _values_of(expected, origin) for origin in (left, right))
    return _comparable({**join.joined(*halves), LEFT_ORIGIN: left, RIGHT_ORIGIN: right})


def _alert_values(expected: Expected, alert: Alert, told: ToldAlert) -> Any:
    start = _values_of(expected, told.start)
    own = {
        BEGAN_AT: start[alert.starts.at],
        ENDED_AT: None if told.end is None else _values_of(expected, told.end)[alert.ends.at],
        TOLD_AT: told.told_at_us,
        START_ORIGIN: told.start,
        END_ORIGIN: told.end,
        AT_OFFSET: told.at_offset,
    }
    carried = {name: start[name] for name in alert.columns}
    return _comparable({alert.starts.id: start[alert.starts.id], **own, **carried})


def _values_of(expected: Expected, origin: int) -> dict[str, Value]:
    sample = expected.inside[fact_place(expected, origin)].sample
    return with_derived(sample.source, sample.values or {})


def _comparable(values: Mapping[str, Any] | Unreadable) -> Any:
    return values if isinstance(values, Unreadable) else tuple(sorted(values.items()))
