"""Sessions, joins, closings, corrections, expiry and building views: what a task does equals the naive rules."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from app.base import names
from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder
from app.domain.advance import Advance
from app.domain.corrections.correction import Correction, judge
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import BUILDING, LIVE, InputPosition
from app.domain.measures.kinds import Count, First, Max, Min, Sum
from app.domain.oracle.join_fold import fold_join
from app.domain.oracle.view_fold import fold
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.engine.core.batch import Output, Transaction
from app.engine.core.completing import completed
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer, new_state
from app.engine.core.task import TaskCore
from app.rides.ride import HOUR_US, RIDES
from tests.support.material.histories import SCHEMAS, START_US, Log, random_log, random_splits
from tests.support.tasks.batches import as_batches
from tests.support.tasks.cores import rows_of
from tests.support.tasks.staged_core import GREEN, MEETING, YELLOW, batch_of_outputs, close, core_of, outputs, settle

MEASURES = (
    Count("rides"),
    Sum("fare", "fare_cents"),
    Min("least", "fare_cents"),
    Max("most", "total_cents"),
    First("first", "tip_cents"),
)
BY_VENDOR = (Group("vendor", "vendor"), Group("zone", "pickup_zone"))
SHIFTS = View(50, "shifts", RIDES, BY_VENDOR[:1], Session("pickup_at_us", 1800), MEASURES, 3600, 7200, "sessions")
HOURS = View(51, "hours", RIDES, BY_VENDOR, Tumbling("pickup_at_us", 3600), MEASURES, 1800, 7200, "hours")
TOTAL = View(52, "total", RIDES, BY_VENDOR, AllTime(), MEASURES, 0, 0, "all time")
MET_ID = 77
TASKS = 2
WHOLE = TaskDefinition(
    "app",
    (RIDES,),
    (SHIFTS, HOURS, TOTAL),
    (MEETING,),
    finals=("hours",),
    task_count=TASKS,
    schema_ids={"rides.met": MET_ID},
)


def play(core: TaskCore, logs: Sequence[Log], rng: random.Random) -> list[Transaction]:
    """Fold logs in random pieces, topics interleaved at random; gives the transactions."""
    pieces = [[log.batch(base, until) for base, until in random_splits(rng, log.next_offset)] for log in logs]
    done: list[Transaction] = []
    while left := [of_topic for of_topic in pieces if of_topic]:
        done += settle(core, core.plan(rng.choice(left).pop(0), SCHEMAS))
    return done


def two_logs(rng: random.Random, partition: int = 0, count: int = 80) -> list[Log]:
    return [random_log(rng, topic, partition, rng.randint(0, count)) for topic in (YELLOW, GREEN)]


def unexpired(view: View, core: TaskCore, rows: dict[RowKey, Cells]) -> dict[RowKey, Cells]:
    to_us = core.state.marker.views[view.name].expired_to_us
    if to_us is None:
        return rows
    return {key: cells for key, cells in rows.items() if end_of(view, key, cells) > to_us}


def end_of(view: View, key: RowKey, cells: Cells) -> int:
    assert key.window_start_us is not None
    return view.window.end(key.window_start_us, cells[2])


@given(seed=st.integers(0, 2**32))
def test_sessions_are_those_of_the_naive_fold_whatever_the_batches(seed: int) -> None:
    rng = random.Random(seed)
    logs, core = two_logs(rng), core_of(TaskDefinition("app", (RIDES,), (replace(SHIFTS, retention_seconds=10**9),)))
    play(core, logs, rng)
    view = core.definition.views[0]
    folded = fold(view, [record for log in logs for record in log.records])
    assert rows_of(core, view) == dict(folded.rows[0])
    fates = core.state.marker.views[view.name].fates.values()
    assert sum(f.late for f in fates) == len(folded.late)
    assert sum(f.applied for f in fates) == len(folded.applied)


@given(seed=st.integers(0, 2**32))
def test_a_join_depends_on_the_two_prefixes_and_not_on_their_interleaving(seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice(("ride_id", "pickup_zone"))  # no id comes twice in a topic, or each comes often
    join = replace(MEETING, left=replace(MEETING.left, id=name), right=replace(MEETING.right, id=name))
    logs, core = two_logs(rng), core_of(replace(WHOLE, joins=(join,)))
    done = play(core, logs, rng)
    advances = []
    for log in logs:
        watermark_us = START_US + rng.randint(0, 40) * HOUR_US
        if core.state.marker.inputs[log.topic].watermark_us < watermark_us:
            advances.append(Advance(log.topic, 0, log.next_offset, watermark_us))
            done += settle(core, core.advance(log.topic, watermark_us))
    expected = fold_join(join, [record for log in logs for record in log.records], advances)
    met = outputs(done, "rides.met")
    schema = {MET_ID: WriterSchema(MET_ID, orjson.dumps(record_schema(MEETING.source)).decode())}
    told = [StrictDecoder(MEETING.source.columns).decode(output.value, schema) for output in met]
    assert sorted((t[LEFT_ORIGIN], t[RIGHT_ORIGIN]) for t in told if isinstance(t, dict)) == sorted(expected.pairs)
    unmatched = outputs(done, names.unmatched_topic("app"))
    assert len(unmatched) == sum(map(len, expected.unmatched.values()))
    position = core.state.marker.joins["meeting"]
    assert position.joined == len(expected.pairs)
    assert position.unmatched == len(unmatched)
    assert sum(f.late for f in position.fates.values()) == len(expected.late)
    assert sum(f.duplicate for f in position.fates.values()) == len(expected.duplicates)
    assert sum(f.applied for f in position.fates.values()) == len(expected.applied)


@given(seed=st.integers(0, 2**32))
def test_halves_are_forgotten_when_nobody_can_meet_or_repeat_them(seed: int) -> None:
    rng = random.Random(seed)
    core = core_of(WHOLE)
    play(core, two_logs(rng), rng)
    close(core, START_US + 80 * 365 * 24 * HOUR_US)
    assert len(core.state.halves["meeting"]) == 0


@given(seed=st.integers(0, 2**32))
def test_finals_are_the_closed_rows_of_all_tasks_merged_each_once(seed: int) -> None:
    rng = random.Random(seed)
    cores = [core_of(WHOLE, partition) for partition in range(TASKS)]
    logs = [two_logs(rng, partition) for partition in range(TASKS)]
    done = [play(core, of_task, rng) for core, of_task in zip(cores, logs, strict=True)]
    to_us = START_US + rng.randint(0, 60) * HOUR_US
    for core, transactions in zip(cores, done, strict=True):
        transactions.extend(close(core, to_us))
    closing = names.closing_topic("app", "rides")
    inputs: dict[int, list[Output]] = defaultdict(list)
    everything = [transaction for transactions in done for transaction in transactions]
    rng.shuffle(done)
    for transactions in done:
        for output in outputs(transactions, closing):
            assert output.partition is not None
            inputs[output.partition].append(output)
    finals = []
    for core in cores:
        for base, until in random_splits(rng, len(inputs[core.state.partition])):
            batch = batch_of_outputs(closing, core.state.partition, base, inputs[core.state.partition][base:until])
            made = settle(core, core.plan(batch, SCHEMAS))
            finals += outputs(made, "windows.hours")
            everything += made
    expected = _closed_rows(cores, logs)
    told = [orjson.loads(f.value or b"") for f in finals]
    keys = [(t["window_start_us"], t["vendor"], t["zone"]) for t in told]
    assert len(set(keys)) == len(keys)
    assert {key: tuple(t["cells"]) for key, t in zip(keys, told, strict=True)} == expected
    assert all(len(core.state.closings["hours"]) == 0 or not _all_marked(core) for core in cores)


def _all_marked(core: TaskCore) -> bool:
    return len(core.state.marks["hours"]) == TASKS


def _closed_rows(cores: Sequence[TaskCore], logs: Sequence[Sequence[Log]]) -> dict[tuple[object, ...], Cells]:
    """Rows that every task has closed, merged; none before every task has closed something."""
    lowest_us = []
    for core in cores:
        watermark_us = core.state.marker.lowest_watermark_us(core.definition.by_topic)
        if watermark_us == NO_WATERMARK:
            return {}
        lowest_us.append(watermark_us)
    rows: dict[RowKey, list[Cells]] = defaultdict(list)
    for core, of_task in zip(cores, logs, strict=True):
        records = [record for log in of_task for record in log.records]
        for key, cells in fold(HOURS, records).rows[core.state.partition].items():
            if end_of(HOURS, key, cells) + HOURS.grace_us <= min(lowest_us):
                rows[key].append(cells)
    return {(key.window_start_us, *key.group): merge_rows(HOURS, cells) for key, cells in rows.items()}


@given(seed=st.integers(0, 2**32))
def test_expired_rows_are_gone_and_all_others_are_there(seed: int) -> None:
    rng = random.Random(seed)
    logs, core = two_logs(rng), core_of(replace(WHOLE, finals=(), task_count=0))
    play(core, logs, rng)
    close(core, START_US + rng.randint(0, 60) * HOUR_US)
    records = [record for log in logs for record in log.records]
    lowest_us = core.state.marker.lowest_watermark_us(core.definition.by_topic)
    for view in (SHIFTS, HOURS):
        rows = rows_of(core, view)
        assert rows == unexpired(view, core, dict(fold(view, records).rows[0]))
        for key, cells in rows.items():
            grain_us = HOUR_US if view is HOURS else HOUR_US // 2
            assert end_of(view, key, cells) + view.grace_us + view.retention_us > lowest_us - grain_us
    assert rows_of(core, TOTAL) == dict(fold(TOTAL, records).rows[0])


@given(seed=st.integers(0, 2**32))
def test_all_that_a_task_holds_is_restored_from_its_changelog(seed: int) -> None:
    rng = random.Random(seed)
    logs, core = two_logs(rng), core_of(WHOLE)
    done = play(core, logs, rng)
    done += close(core, START_US + rng.randint(0, 30) * HOUR_US)
    given = outputs(done, names.closing_topic("app", "rides"))
    mine = [output for output in given if output.partition == 0]
    done += (
        settle(core, core.plan(batch_of_outputs(names.closing_topic("app", "rides"), 0, 0, mine), SCHEMAS))
        if mine
        else []
    )
    written = [record for transaction in done for record in transaction.changelog]
    restorer = Restorer(WHOLE)
    for batch in as_batches(written, rng):
        restorer.read(batch)
    state = restorer.finish(core.state.marker.inputs, 0)
    assert state.marker == core.state.marker
    for view in WHOLE.views:
        assert sorted(zip(*state.views[view.name].stored(), strict=True)) == sorted(
            zip(*core.state.views[view.name].stored(), strict=True)
        )
    assert sorted(zip(*state.closings["hours"].stored(), strict=True)) == sorted(
        zip(*core.state.closings["hours"].stored(), strict=True)
    )
    assert state.marks == core.state.marks
    assert sorted(state.halves["meeting"], key=repr) == sorted(core.state.halves["meeting"], key=repr)
    assert dict(state.spans["shifts"]._held) == {k: v for k, v in core.state.spans["shifts"]._held.items() if v}


@given(seed=st.integers(0, 2**32))
def test_a_view_built_beside_the_others_becomes_what_it_would_have_been(seed: int) -> None:
    rng = random.Random(seed)
    logs = two_logs(rng)
    old = core_of(TaskDefinition("app", (RIDES,), (TOTAL,)))
    cuts = {log.topic: rng.randint(0, log.next_offset) for log in logs}
    advances = []
    for log in logs:
        for base, until in random_splits(rng, cuts[log.topic]):
            settle(old, old.plan(log.batch(base, until), SCHEMAS))
            watermark_us = START_US + rng.randint(0, 20) * HOUR_US
            if rng.random() < 0.2 and (transaction := old.advance(log.topic, watermark_us)):
                advances.append(Advance(log.topic, 0, until, watermark_us))
                settle(old, transaction)
    keep_all = 10**9
    views = (TOTAL, replace(HOURS, retention_seconds=keep_all), replace(SHIFTS, retention_seconds=keep_all))
    definition = TaskDefinition("app", (RIDES,), views)
    starts = {topic: InputPosition("id", 0, 0) for topic in definition.topics}
    state = new_state(definition, 0, starts)
    state.views["total"] = old.state.views["total"]
    state.blocks = old.state.blocks
    state.marker = completed(definition, old.state.marker, starts)
    core = TaskCore(definition, state)
    by_topic = {log.topic: log for log in logs}
    if any(cuts.values()):
        assert core.state.marker.views["hours"].state == BUILDING
        assert core.build_progress()["hours"] == (0, sum(cuts.values()))
    while (behind := _behind(core, logs)) or core.to_build():
        piece = core.to_build()
        if piece is None or (behind and rng.random() < 0.5):
            log = rng.choice(behind)
            at = core.state.marker.inputs[log.topic].next_offset
            settle(core, core.plan(log.batch(at, min(log.next_offset, at + rng.randint(1, 30))), SCHEMAS))
        else:
            until = min(piece.to_offset, piece.from_offset + rng.randint(1, 40))
            batch = by_topic[piece.topic].batch(piece.from_offset, until)
            mine = [a for a in advances if a.topic == piece.topic]
            settle(core, core.build(batch, mine, SCHEMAS))
    assert core.build_progress() == {}
    records = [record for log in logs for record in log.records]
    for view in views:
        assert core.state.marker.views[view.name].state == LIVE
        assert rows_of(core, view) == dict(fold(view, records, advances).rows[0])


@given(seed=st.integers(0, 2**32))
@example(seed=7870)  # one transaction removes three rows of a view, one after another
def test_corrections_are_judged_one_by_one_and_set_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    logs, core = two_logs(rng), core_of(replace(WHOLE, finals=(), task_count=0))
    play(core, logs, rng)
    close(core, START_US + rng.randint(0, 10) * HOUR_US)
    rows = {view.name: dict(rows_of(core, view)) for view in WHOLE.views}
    corrections = [_random_correction(rng, rows) for _ in range(12)]
    topic = names.corrections_topic("app", "rides")
    given = [Output(topic, None, _told(correction)) for correction in corrections]
    made = []
    for base, until in random_splits(rng, len(given)):
        made += settle(core, core.plan(batch_of_outputs(topic, 0, base, given[base:until]), SCHEMAS))
    told = [orjson.loads(output.value or b"") for output in outputs(made, names.corrected_topic("app"))]
    assert [t["offset"] for t in told] == list(range(12))
    lowest_us = core.state.marker.lowest_watermark_us(core.definition.by_topic)
    for correction, outcome in zip(corrections, told, strict=True):
        view = WHOLE.by_name[correction.view]
        stored = rows[view.name].get(correction.key)
        expired_to_us = core.state.marker.views[view.name].expired_to_us
        why = judge(view, correction, stored, lowest_us, expired_to_us)
        assert outcome["why"] == why
        if why is None and correction.row is None:
            rows[view.name].pop(correction.key, None)
        elif why is None and correction.row is not None:
            rows[view.name][correction.key] = correction.row
    assert {view.name: rows_of(core, view) for view in WHOLE.views} == rows


def _behind(core: TaskCore, logs: Sequence[Log]) -> list[Log]:
    inputs = core.state.marker.inputs
    return [log for log in logs if inputs[log.topic].next_offset < log.next_offset]


def _random_correction(rng: random.Random, rows: dict[str, dict[RowKey, Cells]]) -> Correction:
    view = rng.choice((HOURS, HOURS, TOTAL))
    stored = rows[view.name]
    key = rng.choice(list(stored)) if stored and rng.random() < 0.8 else RowKey(START_US // HOUR_US * HOUR_US, ("x", 1))
    if not view.window.ends:
        key = RowKey(None, key.group)
    here = stored.get(key)
    expected = here if rng.random() < 0.7 else rng.choice((None, view.neutral))
    row = rng.choice((None, tuple(cell + 1 for cell in (here or (0,) * len(view.cells)))))
    row = None if row is None else tuple(max(-(2**63), min(2**63 - 1, cell)) for cell in row)
    return Correction("run", view.name, rng.choice((view.version, view.version, "ffffffff")), key, expected, row)


def _told(correction: Correction) -> bytes:
    document = {
        "run": correction.run,
        "view": correction.view,
        "version": correction.version,
        "window_start_us": correction.key.window_start_us,
        "group": correction.key.group,
        "expected": correction.expected,
        "row": correction.row,
    }
    return orjson.dumps(document)
