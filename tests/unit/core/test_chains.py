"""Rows that merge are found by what they touch, whatever came, went and was moved before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.core.rows.chains import Chains

GROUPS = [(0, 0), (0, 1), (1, 0)]
MOST_SLOTS = 40


class Held(NamedTuple):
    """What a naive list of rows knows of one."""

    group: tuple[int, int]
    start: int
    end: int


def naive(held: dict[int, Held], group: tuple[int, int], start: int, end: int) -> list[int]:
    return sorted(s for s, row in held.items() if row.group == group and row.start <= end and row.end >= start)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def groups_of(groups: list[tuple[int, int]]) -> np.ndarray:
    return np.array(groups, np.int64).reshape(len(groups), 2)


def add(chains: Chains, rows: dict[int, Held]) -> None:
    groups, starts, ends = zip(*rows.values(), strict=True) if rows else ((), (), ())
    chains.add(ints([*rows]), groups_of([*groups]), ints([*starts]), ints([*ends]))


@given(st.data())
def test_what_a_span_touches_is_what_a_list_of_all_rows_would_say(data: st.DataObject) -> None:
    """Rows of a group are ten apart at least and end within nine; they come in any order, several at once."""
    chains, held = Chains(2), dict[int, Held]()
    places = st.tuples(st.sampled_from(GROUPS), st.integers(0, 12).map(lambda n: 10 * n))
    for step in data.draw(st.lists(st.sampled_from(["add", "remove", "end", "move", "ask"]), max_size=15)):
        free = [slot for slot in range(MOST_SLOTS) if slot not in held]
        if step == "add":
            known = {(row.group, row.start) for row in held.values()}
            new = [place for place in data.draw(st.lists(places, max_size=8, unique=True)) if place not in known]
            slots = data.draw(st.permutations(free))[: len(new)]
            rows = {slot: Held(*place, place[1] + slot % 10) for slot, place in zip(slots, new, strict=False)}
            add(chains, rows)
            held |= rows
        elif step == "remove":
            gone = [slot for slot in data.draw(st.permutations([*held])) if data.draw(st.booleans())]
            chains.remove(ints(gone))
            held = {slot: row for slot, row in held.items() if slot not in gone}
        elif step == "end":
            held = {slot: row._replace(end=row.start + (slot * 7) % 10) for slot, row in held.items()}
            chains.set_ends(ints([*held]), ints([row.end for row in held.values()]))
        elif step == "move":
            moved = dict(zip([*held], free, strict=False))
            chains.move(ints([*moved]), ints([*moved.values()]))
            held = {moved.get(slot, slot): row for slot, row in held.items()}
        asked = data.draw(
            st.lists(st.tuples(st.sampled_from([*GROUPS, (9, 9)]), st.integers(-9, 130), st.integers(0, 60)))
        )
        groups, starts = groups_of([a[0] for a in asked]), ints([a[1] for a in asked])
        found = chains.touching(groups, starts, starts + ints([a[2] for a in asked]))
        assert found.tolist() == sorted({slot for g, s, more in asked for slot in naive(held, g, s, s + more)})


@pytest.mark.parametrize("columns", [0, 1])
def test_rows_without_groups_are_one_chain(columns: int) -> None:
    chains, starts = Chains(columns), np.arange(0, 1000, 10)
    chains.add(np.arange(100), np.zeros((100, columns), np.int64), starts, starts + 5)
    nobody = np.zeros((1, columns), np.int64)
    assert chains.touching(nobody, ints([306]), ints([309])).tolist() == []
    assert chains.touching(nobody, ints([305]), ints([320])).tolist() == [30, 31, 32]


def test_memory_comes_back_when_rows_go() -> None:
    chains, slots = Chains(1), np.arange(200_000)
    chains.add(slots, slots[:, None], slots, slots)
    before = chains.nbytes
    chains.remove(slots[10:])
    chains.fit(10)
    assert chains.nbytes < before / 50
    assert chains.touching(slots[:10, None], slots[:10], slots[:10]).tolist() == [*range(10)]
