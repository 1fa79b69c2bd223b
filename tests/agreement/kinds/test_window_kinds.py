"""Hopping, calendar and shifted windows: stored, answered and published as each window alone would be."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base import names
from app.domain.contribution import contribution
from app.domain.event_time import NO_WATERMARK
from app.domain.oracle.view_fold import by_window, fold
from app.domain.records import Record
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.rules.admission import refusal
from app.domain.source import with_derived
from app.domain.view import View
from app.domain.windows.hopping import Hopping
from app.engine.core.batch import Transaction
from app.engine.core.cells.overlapping import by_window as rows_by_window
from app.engine.core.definition import TaskDefinition
from app.engine.core.results import closing
from app.engine.core.task import TaskCore
from app.rides.ride import RIDES
from app.testkit.received import stored_rows
from tests.support.material.histories import SCHEMAS, START_US, TOPIC_NAMES, Log, random_log, random_splits
from tests.support.material.views import DAYS, HOPPING, HOURS, ODD_WINDOWS, SHIFTED, UNEVEN
from tests.support.tasks.staged_core import batch_of_outputs, close, core_of, outputs, settle

HOUR_US = 3_600_000_000
CLOCK_CHANGES_US = (1_772_953_200_000_000, 1_793_512_800_000_000)
"""2026-03-08T07:00Z and 2026-11-01T06:00Z: clocks in New York go forward, and back."""
BIG_HOP = replace(UNEVEN, number=80, name="big_hop", window=Hopping("dropoff_at_us", 86_400, 7000), grace_seconds=0)


def naive(view: View, records: Sequence[Record]) -> dict[RowKey, Cells]:
    """Every window on its own: the records in it that came while its own end plus grace was ahead of the watermark."""
    assert view.window.overlap is not None
    (size_us, step_us, offset_us), watermark_us = view.window.overlap, NO_WATERMARK
    counted: dict[RowKey, list[Cells]] = defaultdict(list)
    for record in records:
        values = with_derived(RIDES, record.values)
        if refusal(RIDES, record, values) is not None:
            continue
        watermark_us = max(watermark_us, int(values["reported_at_us"] or 0))
        instant = values[view.window.column]
        if instant is None:
            continue
        nearest = int(instant) // step_us
        for k in range(nearest - size_us // step_us - 3, nearest + 3):
            start_us = k * step_us + offset_us
            if start_us <= int(instant) < start_us + size_us and start_us + size_us + view.grace_us > watermark_us:
                group = tuple(values[group.column] for group in view.groups)
                counted[RowKey(start_us, group)].append(contribution(view, record))
    return {key: merge_rows(view, cells) for key, cells in counted.items()}


@given(seed=st.integers(0, 2**32), view=st.sampled_from([HOPPING, UNEVEN, BIG_HOP]))
def test_panes_and_their_first_windows_give_each_window_the_records_that_came_in_its_time(
    seed: int, view: View
) -> None:
    log = random_log(random.Random(seed), TOPIC_NAMES[0], 0, 60)
    assert by_window(view, fold(view, log.records).rows[0]) == naive(view, log.records)


@given(seed=st.integers(0, 2**32))
def test_an_answer_s_windows_are_those_of_the_naive_fold_whatever_it_asks_for(seed: int) -> None:
    rng = random.Random(seed)
    view, log = rng.choice([HOPPING, UNEVEN, BIG_HOP]), random_log(rng, TOPIC_NAMES[0], 0, 80)
    core = core_of(TaskDefinition("app", (RIDES,), (replace(view, retention_seconds=10**9),)))
    play(core, [log], rng)
    asked = [rng.choice((None, START_US + rng.randint(-30, 40) * HOUR_US // 7)) for _ in range(3)]
    from_us, until_us, ended_us = asked
    seen = rows_by_window(core.definition.views[0], view.window.overlap, core.state.views[view.name].select(), *asked)
    held = core_of(TaskDefinition("app", (RIDES,), (view,))).state.views[view.name]
    held.append(seen)
    expected = {
        key: cells
        for key, cells in naive(view, log.records).items()
        if (from_us is None or (key.window_start_us or 0) >= from_us)
        and (until_us is None or (key.window_start_us or 0) < until_us)
        and (ended_us is None or view.window.window_end(key.window_start_us or 0) > ended_us)
    }
    assert {RowKey(key.window_start_us, key.group[1:]): cells for key, cells in stored_rows(held).items()} == expected


@pytest.mark.parametrize("changed_us", CLOCK_CHANGES_US)
@given(seed=st.integers(0, 2**32))
def test_across_a_clock_change_the_core_gives_what_the_naive_fold_gives(changed_us: int, seed: int) -> None:
    rng = random.Random(seed)
    start_us = changed_us - rng.randint(0, 60) * HOUR_US
    log = random_log(rng, TOPIC_NAMES[0], 0, 120, start_us=start_us)
    views = tuple(replace(view, retention_seconds=10**9) for view in ODD_WINDOWS)
    core = core_of(TaskDefinition("app", (RIDES,), views))
    play(core, [log], rng)
    for view in views:
        assert stored_rows(core.state.views[view.name]) == dict(fold(view, log.records).rows[0])


@given(seed=st.integers(0, 2**32), view=st.sampled_from([SHIFTED, DAYS, HOURS, HOPPING, UNEVEN, BIG_HOP]))
def test_finals_are_the_windows_that_all_tasks_closed_each_once_though_time_jumps(seed: int, view: View) -> None:
    """Two tasks, steps of a few rows, watermarks that jump by years or creep; nothing in between is left out."""
    rng = random.Random(seed)
    start_us = rng.choice((START_US, *CLOCK_CHANGES_US))
    whole = TaskDefinition("app", (RIDES,), (view,), finals=(view.name,), task_count=2)
    cores = [core_of(whole, partition) for partition in range(2)]
    logs = [random_log(rng, TOPIC_NAMES[0], partition, 60, start_us=start_us) for partition in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closing, "CLOSED_ROWS", rng.choice((1, 3, 50, 5000)))
        done = [play(core, [log], rng) for core, log in zip(cores, logs, strict=True)]
        for hours in sorted(rng.sample(range(-10, 200), 3)) + rng.choice(([], [40 * 365 * 24])):
            for core, transactions in zip(cores, done, strict=True):
                transactions.extend(close(core, start_us + hours * HOUR_US))
    finals = merged_finals(rng, cores, done, view)
    lowest_us = min(core.state.marker.lowest_watermark_us(whole.by_topic) for core in cores)
    expected: dict[RowKey, list[Cells]] = defaultdict(list)
    for log in logs:
        for key, cells in by_window(view, fold(view, log.records).rows[log.partition]).items():
            if view.window.window_end(key.window_start_us or 0) + view.grace_us <= lowest_us:
                expected[key].append(cells)
    told = [RowKey(f["window_start_us"], tuple(f[group.name] for group in view.groups)) for f in finals]
    assert len(set(told)) == len(told)
    assert {key: tuple(f["cells"]) for key, f in zip(told, finals, strict=True)} == {
        key: merge_rows(view, cells) for key, cells in expected.items()
    }
    assert all(f["window_end_us"] == view.window.window_end(f["window_start_us"]) for f in finals)
    for core in cores:
        kept = fold(view, logs[core.state.partition].records).rows[core.state.partition]
        to_us = core.state.marker.views[view.name].expired_to_us
        assert stored_rows(core.state.views[view.name]) == {
            key: cells for key, cells in kept.items() if to_us is None or last_window_end_us(view, key) > to_us
        }


def last_window_end_us(view: View, key: RowKey) -> int:
    """When the last of the windows that count a row ends."""
    return max(view.window.window_end(shown.window_start_us or 0) for shown in by_window(view, {key: view.neutral}))


def merged_finals(
    rng: random.Random, cores: Sequence[TaskCore], done: Sequence[Sequence[Transaction]], view: View
) -> list[dict[str, Any]]:
    """What the tasks publish once they have read all that they sent to the closing topic."""
    topic, finals = names.closing_topic("app", "rides"), []
    sent = [output for transactions in done for output in outputs(list(transactions), topic)]
    for core in cores:
        mine = [output for output in sent if output.partition == core.state.partition]
        for base, until in random_splits(rng, len(mine)):
            batch = batch_of_outputs(topic, core.state.partition, base, mine[base:until])
            finals += outputs(settle(core, core.plan(core.read([batch], SCHEMAS))), names.finals_topic(view.name))
    return [orjson.loads(final.value or b"") for final in finals]


def play(core: TaskCore, logs: Sequence[Log], rng: random.Random) -> list[Transaction]:
    """Fold logs in random pieces; gives the transactions, upkeep among them."""
    return [
        transaction
        for log in logs
        for base, until in random_splits(rng, log.next_offset)
        for transaction in settle(core, core.plan(core.read([log.batch(base, until)], SCHEMAS)))
    ]
