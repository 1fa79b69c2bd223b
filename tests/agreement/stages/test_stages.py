"""Sessions, joins, closings and expiry: what a task does equals the naive rules."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base import names
from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder
from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK
from app.domain.oracle.join_fold import fold_join
from app.domain.oracle.view_fold import final_rows, fold
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN
from app.domain.rows import Cells, RowKey, end_of
from app.domain.view import View
from app.engine.core.batch import Output
from app.engine.core.definition import TaskDefinition
from app.engine.core.task import TaskCore
from app.rides.ride import HOUR_US, RIDES
from tests.support.material.histories import SCHEMAS, START_US, Log, random_splits
from tests.support.tasks.cores import rows_of
from tests.support.tasks.staged_core import MEETING, batch_of_outputs, close, core_of, outputs, settle
from tests.support.tasks.stages import HOURS, MET_ID, SHIFTS, TASKS, TOTAL, WHOLE, play, two_logs


def unexpired(view: View, core: TaskCore, rows: dict[RowKey, Cells]) -> dict[RowKey, Cells]:
    to_us = core.state.marker.views[view.name].expired_to_us
    if to_us is None:
        return rows
    return {key: cells for key, cells in rows.items() if end_of(view, key, cells) > to_us}


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


@pytest.mark.parametrize("view", [HOURS, SHIFTS], ids=lambda view: view.name)
@given(seed=st.integers(0, 2**32))
def test_finals_are_the_closed_rows_of_all_tasks_merged_each_once(view: View, seed: int) -> None:
    rng = random.Random(seed)
    cores = [core_of(WHOLE, partition) for partition in range(TASKS)]
    logs = [two_logs(rng, partition) for partition in range(TASKS)]
    done = [play(core, of_task, rng) for core, of_task in zip(cores, logs, strict=True)]
    to_us = START_US + rng.randint(0, 60) * HOUR_US
    for core, transactions in zip(cores, done, strict=True):
        transactions.extend(close(core, to_us))
    closing = names.closing_topic("app", "rides")
    inputs: dict[int, list[Output]] = defaultdict(list)
    rng.shuffle(done)
    for transactions in done:
        for output in outputs(transactions, closing):
            assert output.partition is not None
            inputs[output.partition].append(output)
    finals = []
    for core in cores:
        for base, until in random_splits(rng, len(inputs[core.state.partition])):
            batch = batch_of_outputs(closing, core.state.partition, base, inputs[core.state.partition][base:until])
            made = settle(core, core.plan(core.read([batch], SCHEMAS)))
            finals += outputs(made, names.finals_topic(view.name))
    told = [orjson.loads(f.value or b"") for f in finals]
    keys = [RowKey(t["window_start_us"], tuple(t[group.name] for group in view.groups)) for t in told]
    assert len(set(keys)) == len(keys)
    expected = _closed_rows(view, cores, logs)
    assert {key: tuple(t["cells"]) for key, t in zip(keys, told, strict=True)} == expected
    for key, t in zip(keys, told, strict=True):
        assert t["window_end_us"] == end_of(view, key, t["cells"])
    assert all(len(core.state.closings["hours"]) == 0 or not _all_marked(core) for core in cores)


def _all_marked(core: TaskCore) -> bool:
    return len(core.state.marks["hours"]) == TASKS


def _closed_rows(view: View, cores: Sequence[TaskCore], logs: Sequence[Sequence[Log]]) -> dict[RowKey, Cells]:
    """Rows that every task has closed, merged; none before every task has closed something."""
    lowest_us = [core.state.marker.lowest_watermark_us(core.definition.by_topic) for core in cores]
    if NO_WATERMARK in lowest_us:
        return {}
    folds = [fold(view, [record for log in of_task for record in log.records]) for of_task in logs]
    rows = [folded.rows[core.state.partition] for core, folded in zip(cores, folds, strict=True)]
    return final_rows(view, rows, view.window.last_end(min(lowest_us) - view.grace_us))


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
