"""Sessions that differ are looked at as clusters of those that touch, and each names exactly what was done to it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.difference import DifferenceKind, Fate, Witness
from app.domain.naming.clusters import ROWS, RowClusters, clustered
from app.domain.naming.evidence import Translator
from app.domain.naming.named import name_rows
from app.domain.naming.row_difference import RowDifference
from app.domain.records import Record
from app.domain.rows import Cells, RowKey, end_of
from app.domain.view import Group, View
from tests.support.material.histories import TOPIC_NAMES, random_log
from tests.support.material.views import SHIFTS
from tests.support.naming.clusters import PLANTS, PlainClusters, plant, rows_of, sides, told
from tests.support.naming.judged import judged
from tests.support.naming.plain import Rows, compared, packed_origin, row_of

VIEW = replace(SHIFTS, groups=(Group("zone", "pickup_zone"),), grace_seconds=1800)
LEAST = 20
"""Histories in which each of the plants must have been made somewhere."""


@cache
def witnesses_of(seed: int) -> list[Witness]:
    """Of two tasks over two topics; most records of a few zones, so that sessions are long."""
    rng = random.Random(seed)
    logs = [random_log(rng, topic, partition, 60) for topic in TOPIC_NAMES[:2] for partition in (0, 1)]
    records = [record for log in logs for record in log.records]
    few = [replace(one, values={**one.values, "pickup_zone": one.offset % 3 + 1}) for one in records]
    return [one for one in judged(VIEW, few) if one.key is not None]


def named(
    witnesses: Sequence[Witness], live: Rows, changelog: Rows, right: Rows, translator: Translator = row_of
) -> list[RowDifference]:
    clusters = RowClusters(VIEW, compared(live, changelog, right))
    return name_rows(clustered(VIEW), clusters.all, PlainClusters(clusters, witnesses, translator))


@pytest.mark.parametrize("kinds", PLANTS, ids=" ".join)
def test_records_behind_sessions_that_differ_are_named(kinds: Sequence[str]) -> None:
    planted = split = 0
    for seed in range(2 * LEAST):
        witnesses = witnesses_of(seed)
        chosen = plant(random.Random(seed), VIEW, witnesses, kinds)
        if chosen is None:
            continue
        planted += 1
        stored, right = sides(VIEW, witnesses, chosen.changes)
        found = named(witnesses, stored, stored, right)
        assert told(found) == chosen.said, seed
        assert not any(one.is_residual for one in found), seed
        split += set(stored) != set(right)
    assert planted >= LEAST
    assert bool(split) == ({*kinds} != {"doubled"})


@given(seed=st.integers(0, 200))
def test_what_is_right_raises_no_alarm(seed: int) -> None:
    witnesses = witnesses_of(seed)
    stored, right = sides(VIEW, witnesses, {})
    assert named(witnesses, stored, stored, right) == []


def a_long_one(rows: Rows) -> tuple[tuple[int, RowKey], Cells]:
    return max(rows.items(), key=lambda row: row[1][0])


def start_of(one: Witness) -> int:
    assert one.key is not None
    return one.key.window_start_us or 0


def test_one_session_that_stands_there_as_two_is_seen_though_they_come_to_the_same() -> None:
    witnesses = witnesses_of(1)
    _, right = sides(VIEW, witnesses, {})
    (task, key), cells = a_long_one(right)
    applied = [one for one in witnesses if one.fate is Fate.APPLIED and one.record.partition == task]
    by_start = sorted((one for one in applied if one.key and one.key.group == key.group), key=start_of)
    span = range(key.window_start_us or 0, end_of(VIEW, key, cells))
    inside = [one.record for one in by_start if start_of(one) in span]
    halves = [rows_of(VIEW, half) for half in (inside[: len(inside) // 2], inside[len(inside) // 2 :])]
    stored = {place: held for place, held in right.items() if place != (task, key)}
    stored |= {(task, half_key): held for half in halves for half_key, held in half.items()}
    (found,) = named(witnesses, stored, stored, right)
    assert (found.kind, found.cells, found.row.place) == (DifferenceKind.ALTERED, (ROWS,), (task, key))
    (cluster,) = RowClusters(VIEW, compared(stored, stored, right)).all
    assert [len(of_side) for of_side in cluster.extents] == [2, 2, 1]


def test_another_value_is_altered_and_the_workers_own_mistake_its_logic() -> None:
    witnesses = witnesses_of(2)
    _, right = sides(VIEW, witnesses, {})
    place, cells = a_long_one(right)
    at = VIEW.cells.index("fare")

    def mistaken(view: View, records: Sequence[Record]) -> Cells:
        made = row_of(view, records)
        return (*made[:at], made[at] + len(records), *made[at + 1 :])

    for by, kind in ((cells[0], DifferenceKind.LOGIC), (cells[0] + 1, DifferenceKind.ALTERED)):
        stored = {**right, place: (*cells[:at], cells[at] + by, *cells[at + 1 :])}
        (found,) = named(witnesses, stored, stored, right, mistaken)
        assert (found.kind, found.cells) == (kind, ("fare", ROWS))


def test_a_record_that_one_stored_side_lost_is_the_stores_fault() -> None:
    witnesses = witnesses_of(3)
    applied = [packed_origin(VIEW, one.record) for one in witnesses if one.fate is Fate.APPLIED]
    sure = 0
    for lost in applied[:40]:
        stored, right = sides(VIEW, witnesses, {lost: -1})
        for live, changelog in ((stored, right), (right, stored)):
            found = named(witnesses, live, changelog, right)
            assert {one.kind for one in found} == {DifferenceKind.STORE}
            assert not told(found) or told(found) == Counter([(DifferenceKind.STORE, lost, -1)])
            sure += bool(told(found))
    assert sure > 0
