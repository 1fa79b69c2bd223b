"""Stages that begin again: restored from a changelog, built beside the others, and corrected by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from app.base import names
from app.domain.advance import Advance
from app.domain.corrections.correction import Correction, why_not_applied
from app.domain.marker import BUILDING, LIVE, InputPosition
from app.domain.oracle.view_fold import fold
from app.domain.rows import Cells, RowKey
from app.engine.core.batch import Output
from app.engine.core.completing import completed
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer, new_state
from app.engine.core.task import TaskCore
from app.rides.ride import HOUR_US, RIDES
from tests.support.material.histories import SCHEMAS, START_US, Log, random_splits
from tests.support.tasks.batches import as_batches
from tests.support.tasks.cores import rows_of
from tests.support.tasks.staged_core import batch_of_outputs, close, core_of, outputs, settle
from tests.support.tasks.stages import HOURS, SHIFTS, TOTAL, WHOLE, play, two_logs


@given(seed=st.integers(0, 2**32))
def test_all_that_a_task_holds_is_restored_from_its_changelog(seed: int) -> None:
    rng = random.Random(seed)
    logs, core = two_logs(rng), core_of(WHOLE)
    done = play(core, logs, rng)
    done += close(core, START_US + rng.randint(0, 30) * HOUR_US)
    given = outputs(done, names.closing_topic("app", "rides"))
    mine = [output for output in given if output.partition == 0]
    done += (
        settle(core, core.plan(core.read([batch_of_outputs(names.closing_topic("app", "rides"), 0, 0, mine)], SCHEMAS)))
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
    assert state.halves["meeting"].stored() == core.state.halves["meeting"].stored()
    shifts = state.views["shifts"]
    assert len(shifts.touching(shifts.select(), 0)) == len(shifts)


@given(seed=st.integers(0, 2**32))
def test_a_view_built_beside_the_others_becomes_what_it_would_have_been(seed: int) -> None:
    rng = random.Random(seed)
    logs = two_logs(rng)
    old = core_of(TaskDefinition("app", (RIDES,), (TOTAL,)))
    cuts = {log.topic: rng.randint(0, log.next_offset) for log in logs}
    advances = []
    for log in logs:
        for base, until in random_splits(rng, cuts[log.topic]):
            settle(old, old.plan(old.read([log.batch(base, until)], SCHEMAS)))
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
            settle(core, core.plan(core.read([log.batch(at, min(log.next_offset, at + rng.randint(1, 30)))], SCHEMAS)))
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
        made += settle(core, core.plan(core.read([batch_of_outputs(topic, 0, base, given[base:until])], SCHEMAS)))
    told = [orjson.loads(output.value or b"") for output in outputs(made, names.corrected_topic("app"))]
    assert [t["offset"] for t in told] == list(range(12))
    lowest_us = core.state.marker.lowest_watermark_us(core.definition.by_topic)
    for correction, outcome in zip(corrections, told, strict=True):
        view = WHOLE.by_name[correction.view]
        stored = rows[view.name].get(correction.key)
        expired_to_us = core.state.marker.views[view.name].expired_to_us
        why = why_not_applied(view, correction, stored, lowest_us, expired_to_us)
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
