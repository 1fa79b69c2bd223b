"""Byte strings in one buffer are the list they were made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs

STRINGS = st.lists(st.one_of(st.none(), st.binary(max_size=5)), max_size=12)


@given(STRINGS, st.slices(12), st.data())
def test_they_read_like_the_list(strings: list[bytes | None], part: slice, data: st.DataObject) -> None:
    blobs = Blobs.of(strings)
    assert list(blobs) == strings
    assert [blobs[i] for i in range(len(blobs))] == strings
    assert list(blobs[part]) == strings[part]
    which = data.draw(st.lists(st.integers(0, len(strings) - 1), max_size=5)) if strings else []
    assert list(blobs.at(np.array(which, np.int64))) == [strings[i] for i in which]
    assert Blobs.of(blobs) is blobs


@given(STRINGS, st.lists(st.binary(max_size=3), max_size=4))
def test_beginnings_are_found_as_a_loop_finds_them(strings: list[bytes | None], heads: list[bytes]) -> None:
    found = Blobs.of(strings).beginning_with(heads)
    for string, at in zip(strings, found.tolist(), strict=True):
        fitting = [n for n, head in enumerate(heads) if string is not None and string.startswith(head)]
        assert at in fitting or (at == -1 and not fitting)


@given(st.lists(st.binary(min_size=3, max_size=3), max_size=5))
def test_strings_of_one_length_are_the_rows_of_a_matrix(strings: list[bytes]) -> None:
    blobs = Blobs.of([b"before", *strings, b""])[1:-1]
    assert [row.tobytes() for row in blobs.matrix(3)] == strings


def test_a_string_of_another_length_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="strings of 2 bytes where 3 are expected"):
        Blobs.of([b"abc", b"ab"]).matrix(3)
    with pytest.raises(ValueError, match="strings of -1 bytes"):
        Blobs.of([b"abc", None]).matrix(3)
