"""What tasks have sent on, against the naive fold: each record exactly once in committed data, with its content."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from app.base import names
from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import Refusal, StrictDecoder
from app.codecs.batches.origin_headers import (
    JOIN,
    OFFSET,
    PARTITION,
    REASON,
    SIDE,
    TIMESTAMP_MS,
    TOPIC,
    VERSIONS,
    VIEWS,
)
from app.domain.event_time import window_end_us
from app.domain.fingerprint import as_hex, unpack
from app.domain.fold import RowKey, by_window, merge_rows
from app.domain.marker import Fates
from app.domain.pairs.alert import AT_OFFSET, BEGAN_AT, END_ORIGIN, ENDED_AT, START_ORIGIN, TOLD_AT, Alert
from app.domain.pairs.alert_fold import Alerted, Told
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN, Join, Side
from app.domain.pairs.join_fold import Joined
from app.domain.records import Reason, TopicPartition, Value, with_derived
from app.domain.view import View
from app.engine.core.task_state import TaskState
from app.testkit.checks.branches import branch_problems
from app.testkit.checks.expected import Expected, Place
from app.testkit.cluster.partition_log import Sent
from app.testkit.simulation.inputs import Asked, Fact
from app.testkit.simulation.parcels import ALL_VIEWS, changed
from app.testkit.simulation.steps import Deploy
from app.testkit.simulation.world import APPLICATION, World

Problems = Iterator[str]
Settled = Sequence[tuple[TaskState, Expected]]
"""All tasks at the end of a history, and what is expected of each."""


def output_problems(world: World, settled: Settled) -> Problems:
    """Everything that is wrong with what was sent on, by all tasks together."""
    yield from _refusal_problems(world, settled)
    for state, _ in settled:
        yield from _advance_problems(world, state)
    for join in world.definition.joins:
        yield from (f"join {join.name}: {problem}" for problem in _join_problems(world, settled, join))
    for alert in world.definition.alerts:
        yield from (f"alert {alert.name}: {problem}" for problem in _alert_problems(world, settled, alert))
    for name in world.definition.finals:
        yield from _final_problems(world, settled, world.definition.by_name[name])
    for branch in world.definition.branches:
        yield from branch_problems(world, [expected for _, expected in settled], branch)
    known = {names.quarantine_topic(APPLICATION), names.late_topic(APPLICATION), names.advances_topic(APPLICATION)}
    known |= {names.unmatched_topic(APPLICATION), *(one.output.name for one in world.definition.pairing)}
    known.add(names.corrected_topic(APPLICATION))
    known |= {topic for branch in world.definition.branches for topic in branch.outputs}
    known |= {names.finals_topic(name) for name in world.definition.finals}
    known |= {*world.definition.topics, world.changelog(0).topic}
    yield from (f"nobody expects records in {topic}" for topic in sorted(world.broker.topics - known))


def _refusal_problems(world: World, settled: Settled) -> Problems:
    quarantined: Counter[Any] = Counter()
    late: Counter[Any] = Counter()
    for state, expected in settled:
        quarantined.update(_as_refused(expected.inside[at], (REASON, why)) for at, why in expected.refused.items())
        quarantined.update(_refused_requests(world, state.partition))
        quarantined.update(_unreadable_corrections(world, state.partition))
        late.update((_as_refused(expected.inside[at]), named) for at, named in _late(world, state, expected))
    yield from _multiset_problems("quarantined", quarantined, _written(world, names.quarantine_topic(APPLICATION)))
    told = _written(world, names.late_topic(APPLICATION)).elements()
    split = Counter((_without(record, VIEWS, VERSIONS), named) for record in told for named in _views_of(record))
    anew = _began_anew(world)
    yield from _multiset_problems(
        "late", late, Counter({one: min(n, late[one]) if one[1][0] in anew else n for one, n in split.items()})
    )


def _late(world: World, state: TaskState, expected: Expected) -> Iterator[tuple[Place, tuple[str, str]]]:
    """Each record that a view or join refused for lateness, with its name and version."""
    for view in (*ALL_VIEWS, *map(changed, ALL_VIEWS)):  # those of former releases, too
        position = state.marker.views.get(view.name)
        if position is not None and position.version == view.version:
            for record in expected.view(view).folded.late:
                yield (record.topic, record.offset), (view.name, view.version)
    for join in world.definition.joins:
        for origin in expected.joined(join).late:
            yield _place_of(expected, origin), (join.name, join.version)
    for alert in world.definition.alerts:
        for origin in expected.alerted(alert).late:
            yield _place_of(expected, origin), (alert.name, alert.version)


def _began_anew(world: World) -> set[str]:
    """Views of which releases had another version: what was late for that, or in a former life, was told, too."""
    deployed = {view for step in world.script.steps if isinstance(step, Deploy) for view in step.views}
    return {view.name for view in deployed if view not in ALL_VIEWS}


def _place_of(expected: Expected, packed: int) -> Place:
    origin = unpack(packed)
    topics = {topic.number: topic.name for f in expected.facts for topic in f.sample.source.topics}
    return topics[origin.topic_number], origin.offset


def _as_refused(fact: Fact, *why: tuple[str, str]) -> Any:
    return _refusal(fact.place, fact.offset, fact.sample.sent, *why)


def _refusal(place: TopicPartition, offset: int, sent: Sent, *why: tuple[str, str]) -> Any:
    """Key, value and headers of a refused record as its output must hold them."""
    told = (
        (TOPIC, place.topic),
        (PARTITION, str(place.partition)),
        (OFFSET, str(offset)),
        (TIMESTAMP_MS, str(sent.timestamp_ms)),
        *why,
    )
    return sent.key, sent.value, (*sent.headers, *((name, value.encode()) for name, value in told))


def _without(record: Any, *named: str) -> Any:
    key, value, headers = record
    return key, value, tuple(h for h in headers if h[0] not in named)


def _views_of(record: Any) -> list[tuple[str, str]]:
    told = {header: value.decode().split(",") for header, value in record[2] if header in (VIEWS, VERSIONS)}
    return list(zip(told[VIEWS], told[VERSIONS], strict=True))


def _written(world: World, topic: str) -> Counter[Any]:
    entries = (entry.record for _, entry in world.broker.committed(topic) if entry.record is not None)
    return Counter((record.key, record.value, record.headers) for record in entries)


def _refused_requests(world: World, partition: int) -> Iterator[Any]:
    place = TopicPartition(world.definition.advance_requests, partition)
    for asked in world.inputs.asked:
        if asked.request.place.partition == partition and asked.request.flaw is not None:
            yield _refusal(place, asked.offset, asked.sent, (REASON, str(asked.request.flaw)))


def _unreadable_corrections(world: World, partition: int) -> Iterator[Any]:
    place = TopicPartition(names.corrections_topic(APPLICATION, world.definition.name), partition)
    for sent in world.inputs.corrected:
        if sent.partition == partition and sent.correction is None:
            yield _refusal(place, sent.offset, sent.sent, (REASON, str(Reason.UNDECODABLE)))


def _advance_problems(world: World, state: TaskState) -> Problems:
    """Each recorded advance answers a request, not before its time; what was not answered was not needed."""
    for topic, position in state.marker.inputs.items():
        mine = [a for a in world.advances() if (a.topic, a.partition) == (topic, state.partition)]
        asked = [
            a for a in world.inputs.asked if a.request.place == (topic, state.partition) and a.request.flaw is None
        ]
        if any(a.watermark_us >= b.watermark_us for a, b in pairwise(mine)):
            yield f"{topic}-{state.partition}: advances do not rise: {mine}"
        for advance in mine:
            idle = advance.watermark_us in world.workers.idle_advances_us
            if not idle and not any(_answers(advance.watermark_us, advance.at_offset, request) for request in asked):
                yield f"{topic}-{state.partition}: nobody asked for {advance}"
        for request in asked:
            if request.request.watermark_us > position.watermark_us:
                yield f"{topic}-{state.partition}: not done: {request.request}"


def _answers(watermark_us: int, at_offset: int, asked: Asked) -> bool:
    return asked.request.watermark_us == watermark_us and asked.not_before <= at_offset


def _join_problems(world: World, settled: Settled, join: Join) -> Problems:
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
            facts = (expected.inside[_place_of(expected, origin)] for origin in wanted.unmatched[side])
            unmatched.update(_as_refused(fact, (JOIN, join.name), (SIDE, str(side))) for fact in facts)
        position = state.marker.joins[join.name]
        if position.joined != len(wanted.pairs):
            yield f"{position.joined} joined in the ledger, not {len(wanted.pairs)}"
        for topic in join.topics:
            yield from _fate_problems(expected, topic, wanted, position.fates)
    yield from _multiset_problems("joined", joined, _sent_on(world, join))
    told = _written(world, names.unmatched_topic(APPLICATION)).elements()
    mine = Counter(record for record in told if (JOIN, join.name.encode()) in record[2])
    yield from _multiset_problems("unmatched", unmatched, mine)


def _alert_problems(world: World, settled: Settled, alert: Alert) -> Problems:
    alerted: Counter[Any] = Counter()
    for state, expected in settled:
        wanted = expected.alerted(alert)
        alerted.update(_alert_values(expected, alert, told) for told in wanted.told)
        position = state.marker.alerts[alert.name]
        if position.told != len(wanted.told):
            yield f"{position.told} told in the ledger, not {len(wanted.told)}"
        yield from _fate_problems(expected, alert.topic, wanted, position.fates)
    yield from _multiset_problems("alert", alerted, _sent_on(world, alert))


def _fate_problems(expected: Expected, topic: str, wanted: Joined | Alerted, fates: Mapping[str, Fates]) -> Problems:
    by_fate = (wanted.applied, wanted.late, wanted.out_of_scope, wanted.duplicates)
    counts = Fates(*(sum(_place_of(expected, origin)[0] == topic for origin in each) for each in by_fate))
    if fates.get(topic, Fates()) != counts:
        yield f"{topic}: {fates.get(topic)} in the ledger, not {counts}"


def _sent_on(world: World, of: Join | Alert) -> Counter[Any]:
    schema = WriterSchema(world.definition.schema_ids[of.output.name], json.dumps(record_schema(of.source)))
    strict, told = StrictDecoder(of.source.columns), _written(world, of.output.name).elements()
    return Counter(_comparable(strict.decode(value, {schema.id: schema})) for _, value, _ in told)


def _joined_values(expected: Expected, join: Join, left: int | None, right: int | None) -> Any:
    halves = (None if origin is None else _values_of(expected, origin) for origin in (left, right))
    return _comparable({**join.joined(*halves), LEFT_ORIGIN: left, RIGHT_ORIGIN: right})


def _alert_values(expected: Expected, alert: Alert, told: Told) -> Any:
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
    sample = expected.inside[_place_of(expected, origin)].sample
    return with_derived(sample.source, sample.values or {})


def _comparable(values: Mapping[str, Any] | Refusal) -> Any:
    return values if isinstance(values, Refusal) else tuple(sorted(values.items()))


def _final_problems(world: World, settled: Settled, view: View) -> Problems:
    """Finals of every window that all tasks have closed, once each, as all their rows together say."""
    closed = [state.marker.views[view.name].closed_to_us for state, _ in settled]
    gathered: dict[RowKey, list[Any]] = {}
    for _, expected in settled:
        wanted = expected.view(view)
        for key, cells in by_window(view, wanted.folded.rows[expected.marker.partition]).items():
            end_us = window_end_us(view, key.window_start_us or 0)
            if all(to_us is not None and end_us <= to_us for to_us in closed):
                gathered.setdefault(key, []).append(cells)
    finals = Counter(_final(view, key, merge_rows(view, rows)) for key, rows in gathered.items())
    told = (json.loads(value) for _, value, _ in _written(world, names.finals_topic(view.name)).elements())
    found = Counter(_final(view, _key_of(view, document), document["cells"], document) for document in told)
    yield from _multiset_problems(f"final of {view.name}", finals, found)


def _key_of(view: View, document: Mapping[str, Any]) -> RowKey:
    return RowKey(document["window_start_us"], tuple(document[group.name] for group in view.groups))


def _final(view: View, key: RowKey, cells: Sequence[int], told: Mapping[str, Any] | None = None) -> Any:
    count, fingerprint = (cells[0], as_hex(cells[1])) if told is None else (told["count"], told["fingerprint"])
    shown = view.present(cells) if told is None else {name: told[name] for name in view.present(cells)}
    return key, tuple(cells), count, fingerprint, str(shown)


def _multiset_problems(what: str, wanted: Counter[Any], found: Counter[Any]) -> Problems:
    for record in (wanted - found).elements():
        yield f"{what} record not written: {record}"
    for record in (found - wanted).elements():
        yield f"{what} record written once too often: {record}"
