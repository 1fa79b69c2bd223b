"""Graces and skews that change while tasks go on: worker = oracle = brute force, and what was closed stays closed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from app.codecs.stored.changelog import decode_rows
from app.codecs.stored.closings import as_closed_row_key
from app.codecs.stored.row_keys import decode_key, row_prefix
from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Marker
from app.domain.measures.kinds import Count, Max, Sum
from app.domain.obeyed import rules_of
from app.domain.oracle.view_fold import by_window, fold
from app.domain.records import Reason
from app.domain.rows import Cells, RowKey
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.engine.core.definition import TaskDefinition
from app.rides.ride import RIDES
from spark_batch.folds.corrections import ToldCorrections
from spark_batch.folds.recount import counted, epoch_floors, recount
from spark_batch.source.read_source import read_source
from spark_batch.source.watermark import with_watermark
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.ledgers import LedgerEntry, entries
from spark_batch.stored.row_frames import cells_of, key_of
from tests.support.material import views as odd
from tests.support.material.changed_rules import Ruling, judged, ruled
from tests.support.material.histories import SCHEMAS, START_US, TOPIC_NAMES, Log, random_log
from tests.support.material.views import EVERYTHING
from tests.support.spark_logs import as_kafka
from tests.support.tasks.cores import rows_of

MEASURES = (Count("rides"), Sum("fare", "fare_cents"), Max("most", "total_cents"))
VENDOR = (Group("vendor", "vendor"),)
KEPT = 10**9
LIE_US = START_US + 7
NO_CORRECTIONS = ToldCorrections("none", ())
HOURS = View(51, "hours", RIDES, VENDOR, Tumbling("pickup_at_us", 3600), MEASURES, 1800, KEPT, "hours")
SHIFTS = View(50, "shifts", RIDES, VENDOR, Session("pickup_at_us", 1800), MEASURES, 3600, KEPT, "sessions")
TOTAL = View(52, "total", RIDES, VENDOR, AllTime(), MEASURES, 0, 0, "all time")
HALF_PAST = replace(odd.HOURS, name="half_past")
ODD = tuple(replace(v, retention_seconds=KEPT) for v in (odd.SHIFTED, odd.DAYS, HALF_PAST, odd.HOPPING, odd.UNEVEN))
ENDING = (HOURS, *ODD)
"""Views whose windows end by themselves, so that they may have finals."""
TASKS = TaskDefinition("app", (RIDES,), (HOURS, SHIFTS, TOTAL), finals=("hours",), task_count=1)
SEEDS = st.integers(0, 2**32)
TWO_MORE = st.lists(st.sampled_from(ENDING), min_size=2, max_size=2, unique_by=lambda view: view.name)


def over(*views: View) -> TaskDefinition:
    """Tasks over these views, with finals of those that may have some."""
    finals = tuple(view.name for view in views if view in ENDING)
    return TaskDefinition("app", (RIDES,), views, finals=finals, task_count=1)


def played(seed: int, definition: TaskDefinition = TASKS) -> tuple[Ruling, list[Log]]:
    rng = random.Random(seed)
    logs = [random_log(rng, topic, 0, rng.randint(0, 80)) for topic in TOPIC_NAMES[:2]]
    ruling = Ruling(ruled(definition, rng), 0, rng)
    ruling.play(logs)
    return ruling, logs


@given(SEEDS, TWO_MORE)
def test_rows_fates_and_quarantine_are_those_of_the_naive_fold_that_is_told_the_epochs(
    seed: int, ending: list[View]
) -> None:
    views = (*ending, SHIFTS, TOTAL)
    ruling, logs = played(seed, over(*views))
    records = [record for log in logs for record in log.records]
    marker = ruling.core.state.marker
    for view in views:  # as first declared: the epochs alone count
        expected = fold(view, records, ruling.advances, rules_of(view, [marker]))
        assert rows_of(ruling.core, view) == dict(expected.rows[0])
        fates = marker.views[view.name].fates.values()
        assert sum(f.late for f in fates) == len(expected.late)
        assert sum(f.applied for f in fates) == len(expected.applied)
        for log in logs:
            refused = sum(r.topic == log.topic for r in expected.quarantined)
            assert marker.inputs[log.topic].quarantined == refused + len(log.poisoned)


@given(SEEDS, TWO_MORE)
def test_who_is_refused_and_late_is_what_brute_force_says(seed: int, ending: list[View]) -> None:
    """It is told when which rule came, and of no epoch."""
    views = (*ending, SHIFTS, TOTAL)
    ruling, logs = played(seed, over(*views))
    records = [record for log in logs for record in log.records]
    for view in views:
        expected = fold(view, records, ruling.advances, rules_of(view, [ruling.core.state.marker]))
        for log in logs:
            by_force = judged(view, ruling.events[log.topic])
            assert {(r.topic, r.offset) for r in expected.late if r.topic == log.topic} == by_force.late
            assert {(r.topic, r.offset) for r in expected.quarantined if r.topic == log.topic} == by_force.unusable


@given(SEEDS, st.sampled_from(ENDING))
def test_every_window_counts_what_came_before_any_rule_closed_it(seed: int, view: View) -> None:
    """Of hopping views each window by itself: a record counts in those that were open when it came."""
    ruling, logs = played(seed, over(view))
    by_force = Counter[int]()
    for log in logs:
        by_force.update(judged(view, ruling.events[log.topic]).counted)
    held, at = Counter[int](), view.cells.index("count")
    for key, cells in windows_of(ruling, view).items():
        held[key.window_start_us or 0] += cells[at]
    assert held == by_force


@given(SEEDS, st.sampled_from(ENDING))
def test_a_closed_window_takes_no_more_records_whatever_the_grace_becomes(seed: int, view: View) -> None:
    """What was sent to the closing stage once is never sent again, and equals the window's row for good."""
    ruling, _ = played(seed, over(view))
    closed = [t.marker.views[view.name].closed_to_us for t in ruling.transactions]
    for before, after in pairwise(closed):
        assert before is None or (after is not None and after >= before)
    rows, sent = windows_of(ruling, view), set[RowKey]()
    for key, cells in closings(ruling, view):
        assert key not in sent
        assert rows[key] == cells
        sent.add(key)
    to_us = closed[-1] if closed else None
    assert sent == {
        key for key in rows if to_us is not None and view.window.window_end(key.window_start_us or 0) <= to_us
    }


def windows_of(ruling: Ruling, view: View) -> dict[RowKey, Cells]:
    """The view's rows by window, those of a hopping view folded from its panes."""
    return by_window(view, {key: cells for key, cells in rows_of(ruling.core, view).items() if isinstance(key, RowKey)})


def closings(ruling: Ruling, view: View) -> Iterator[tuple[RowKey, Cells]]:
    """Rows of the view that were sent to the closing stage, in order."""
    head, prefix = row_prefix(view), as_closed_row_key(row_prefix(view))
    for output in (o for t in ruling.transactions for o in t.outputs if o.topic == "app-rides-closing"):
        if output.key is not None and output.key.startswith(prefix) and output.value is not None:
            (cells,) = decode_rows([output.value], len(view.cells)).tolist()
            key = decode_key(view, head + output.key[len(prefix) :])
            yield RowKey(key.window_start_us, key.group[view.window.overlap is not None :]), tuple(cells)


@given(SEEDS)
def test_a_new_view_is_built_by_the_skews_that_held(seed: int) -> None:
    """It reads again what its task has read, and holds what it would hold had it always been there."""
    ruling, logs = played(seed, replace(TASKS, views=(HOURS, SHIFTS)))
    (source,) = ruling.definition.sources
    total = replace(TOTAL, source=source)
    ruling.change(replace(ruling.definition, views=(*ruling.definition.views, total)))
    of = {log.topic: log for log in logs}
    while (piece := ruling.core.to_build()) is not None:
        until = min(piece.to_offset, piece.from_offset + ruling.rng.choice((1, 5, 100)))
        batch = of[piece.topic].batch(piece.from_offset, until)
        advances = [a for a in ruling.advances if a.topic == piece.topic]
        ruling.settle(ruling.core.build(batch, advances, SCHEMAS))
    records = [record for log in logs for record in log.records]
    expected = fold(TOTAL, records, ruling.advances, rules_of(TOTAL, [ruling.core.state.marker]))
    assert rows_of(ruling.core, TOTAL) == dict(expected.rows[0])


def test_without_a_change_there_is_one_epoch_and_its_floor_is_none() -> None:
    ruling = Ruling(TASKS, 0, random.Random(1))
    ruling.change(TASKS)
    for epochs in ruling.core.state.marker.views["hours"].graces.values():
        assert [(e.from_offset, e.grace_seconds, e.floor_us) for e in epochs] == [(0, 1800, NO_WATERMARK)]


@pytest.mark.spark
def test_spark_obeys_the_epochs_that_the_markers_tell(spark: SparkSession, tmp_path: Path) -> None:
    """Two tasks, each taken over by other releases at other times; rows, fates and floors are the worker's."""
    views = (HOURS, EVERYTHING, TOTAL, odd.DAYS, odd.HOPPING)
    rng = random.Random(1)
    tasks, logs = list[Ruling](), list[Log]()
    for partition in (0, 1):
        own = [random_log(rng, topic, partition, 300) for topic in TOPIC_NAMES[:2]]
        tasks.append(Ruling(replace(TASKS, views=views, finals=()), partition, rng))
        tasks[-1].play(own)
        tasks[-1].settle(tasks[-1].core.keep_up())
        logs += own
    advances = [advance for task in tasks for advance in task.advances]
    markers = [task.core.state.marker for task in tasks]
    rules = rules_of(HOURS, markers)
    assert any(len(epochs) > 1 for epochs in rules.skews.values())
    assert len({epoch.refuses for epochs in rules.skews.values() for epoch in epochs}) > 2
    assert any(epoch.floor_us != NO_WATERMARK for epochs in rules.graces.values() for epoch in epochs)
    records = read_source(as_kafka(spark, logs), RIDES, SCHEMAS, tmp_path, rules)
    marked = with_watermark(records, RIDES, advances).cache()
    for view in views:
        own_cuts = [TaskCut.of(view, marker.partition, marker, 0) for marker in markers]
        recounted = recount(view, own_cuts, marked, NO_CORRECTIONS)
        found = {(row["task"], key_of(view, row)): cells_of(view, row) for row in recounted.rows.collect()}
        assert found == {
            (p, key): cells for p, task in enumerate(tasks) for key, cells in rows_of(task.core, view).items()
        }
        figures = counted(recounted)
        assert not [entry for cut in own_cuts for entry in entries(cut, figures, advances) if entry.differs]
        floors = epoch_floors(recounted, advances)
        assert len(floors) == sum(len(epochs) - 1 for epochs in rules_of(view, markers).graces.values() if epochs)
        assert not [entry for entry in floors if entry.differs]
    expected = [fold(EVERYTHING, log.records, advances, rules).quarantined for log in logs]
    numbers = {topic.number: topic.name for topic in RIDES.topics}
    found = {
        (numbers[r["topic_number"]], r["partition"], r["offset"]): r["reason"]
        for r in marked.where("reason like 'unclean:%'").collect()
    }
    unclean = [r for of_log in expected for r in of_log if r.reason.startswith(Reason.UNCLEAN)]
    assert found == {(r.topic, r.partition, r.offset): r.reason for r in unclean}
    assert set(found.values()) == {"unclean:unpaid", "unclean:endless"}
    assert [e.marker for e in floors_of_one_that_lies(markers, marked, advances) if e.differs] == [LIE_US]


def floors_of_one_that_lies(markers: list[Marker], marked: DataFrame, advances: list[Advance]) -> list[LedgerEntry]:
    """What Spark says of the floors when a marker tells one of hours that nothing had closed."""
    told = markers[0].views["hours"]
    topic, epochs = next((topic, epochs) for topic, epochs in told.graces.items() if len(epochs) > 1)
    lie = {topic: (*epochs[:-1], replace(epochs[-1], floor_us=LIE_US))}
    lied = replace(markers[0], views={"hours": replace(told, graces=told.graces | lie)})
    return epoch_floors(recount(HOURS, [TaskCut.of(HOURS, 0, lied, 0)], marked, NO_CORRECTIONS), advances)
