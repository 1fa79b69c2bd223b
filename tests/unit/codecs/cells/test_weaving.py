"""Columns of strings are put together as a loop over their rows would."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.codecs.weaving import chosen, copied, one_of, same, spread, woven

STRINGS = st.none() | st.binary(max_size=6) | st.binary(min_size=30, max_size=70)
ROWS = st.integers(0, 6).flatmap(
    lambda rows: st.lists(st.lists(STRINGS, min_size=rows, max_size=rows), min_size=1, max_size=4)
)


@given(ROWS)
def test_rows_are_the_strings_of_all_columns_and_nulls_add_nothing(columns: list[list[bytes | None]]) -> None:
    rows = [b"".join(string or b"" for string in row) for row in zip(*columns, strict=True)]
    assert list(woven([Blobs.of(column) for column in columns])) == rows


@given(ROWS, st.data())
def test_of_some_columns_each_row_has_the_one_that_is_chosen(
    columns: list[list[bytes | None]], data: st.DataObject
) -> None:
    count = len(columns[0])
    which = data.draw(st.lists(st.integers(0, len(columns) - 1), min_size=count, max_size=count))
    picked = chosen(np.array(which, np.int64), [Blobs.of(column) for column in columns])
    assert list(picked) == [columns[column][row] for row, column in enumerate(which)]


@given(st.lists(STRINGS), st.data())
def test_strings_are_copied_and_spread_with_nulls_between(strings: list[bytes | None], data: st.DataObject) -> None:
    assert list(copied(Blobs.of(strings))) == strings
    count = len(strings) + data.draw(st.integers(0, 3))
    rows = sorted(data.draw(st.permutations(range(count)))[: len(strings)])
    held = spread(Blobs.of(strings), np.array(rows, np.int64), count)
    assert list(held) == [strings[rows.index(at)] if at in rows else None for at in range(count)]


def test_texts_are_told_by_number() -> None:
    assert list(one_of((b"", b"ab", b"c"), np.array([2, 0, 1, 2]))) == [b"c", b"", b"ab", b"c"]
    assert list(same(b"ab", 3)) == [b"ab"] * 3
    assert list(same(b"", 2)) == [b"", b""]
