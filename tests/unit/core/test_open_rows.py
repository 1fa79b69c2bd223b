"""Open rows hold what they were told, find what begins early enough, and let go of what is overtaken."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.codecs.stored.closing_columns import OpenKeys, open_keys_of
from app.engine.core.rows.open_rows import OpenRows
from app.testkit.simulation.parcels import ROUNDS

TASKS = range(3)


class Row(NamedTuple):
    """What a naive table knows an open row by."""

    group: bytes
    start_us: int
    task: int


ROWS = st.builds(Row, st.sampled_from([b"", b"dhl", b"ups"]), st.integers(-2, 4), st.sampled_from(TASKS))
TOLD = st.dictionaries(ROWS, st.integers(0, 5), max_size=6)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def keys_of(rows: list[Row]) -> Blobs:
    groups, starts, tasks = Blobs.of(row.group for row in rows), [row.start_us for row in rows], [r.task for r in rows]
    return open_keys_of(ROUNDS, OpenKeys(groups, ints(starts), ints(tasks)))


@given(st.data())
def test_open_rows_are_what_a_naive_table_would_hold(data: st.DataObject) -> None:
    opened, held = OpenRows(ROUNDS), dict[Row, int]()
    for step in data.draw(st.lists(st.sampled_from(["put", "remove", "overtake", "pack"]), max_size=15)):
        if step == "put":
            told = data.draw(TOLD)
            opened.put(keys_of([*told]), ints([*told.values()]))
            held |= told
        elif step == "remove":
            gone = data.draw(st.lists(ROWS, max_size=6))
            opened.remove(keys_of(gone))
            held = {row: closed for row, closed in held.items() if row not in gone}
        elif step == "overtake":
            marks = data.draw(st.dictionaries(st.sampled_from(TASKS), st.integers(0, 6)))
            overtaken = {row for row, closed in held.items() if closed < marks.get(row.task, closed)}
            most = data.draw(st.integers(1, 4))
            keys = opened.overtaken(marks, most)
            assert [*keys] == [*opened.overtaken(marks, most)]  # asking changes nothing
            assert len(keys) == min(most, len(overtaken))
            assert {*keys} <= {*keys_of([*overtaken])}
            opened.remove(keys)
            held = {row: closed for row, closed in held.items() if keys_of([row])[0] not in [*keys]}
        else:
            opened.pack()
        assert len(opened) == len(held)
        asked = data.draw(st.lists(st.tuples(st.sampled_from([b"", b"dhl", b"ups", b"?"]), st.integers(-4, 6))))
        begun = opened.begin_by(Blobs.of(group for group, _ in asked), ints([instant for _, instant in asked]))
        naive = [any(row.group == group and row.start_us <= at for row in held) for group, at in asked]
        assert begun.tolist() == naive


def test_room_comes_back_when_rows_go() -> None:
    """And with it what their groups are: the last few are still found."""
    opened, count = OpenRows(ROUNDS), 100_000
    rows = OpenKeys(Blobs.of(b"%d" % number for number in range(count)), np.arange(count), np.arange(count) % 4)
    keys = open_keys_of(ROUNDS, rows)
    opened.put(keys, np.arange(count))
    before = opened.nbytes
    opened.remove(keys[:-10])
    opened.pack()
    assert opened.nbytes < before / 2
    assert opened.begin_by(rows.groups[-11:], np.full(11, count)).tolist() == [False] + [True] * 10
    assert sorted(key or b"" for key in opened.overtaken(dict.fromkeys(range(4), count), count)) == sorted(keys[-10:])
