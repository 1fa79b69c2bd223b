"""Columns as JSON are byte for byte what orjson writes, and come back; what it does not write so is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.arrays import Int64s, Mask
from app.codecs.blobs import Blobs
from app.codecs.cells.from_json import columns_of, numbers_from_json, texts_from_json
from app.codecs.cells.to_json import flags_as_json, numbers_as_json, objects_of, texts_as_json
from app.domain.errors import LayoutError

NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, -1, 9, 10, -10, 2**63 - 1, -(2**63)])
TEXTS = st.none() | st.text(max_size=20) | st.text('\x00\x1f"\\/\b\f\n\r\t\x7fé漢', max_size=20)
NAMES = ["a number", 'a "text"', "flag"]
ROWS = st.lists(st.tuples(NUMBERS, TEXTS, st.none() | st.booleans()), max_size=20)


def numbers(values: list[Any]) -> tuple[Int64s, Mask]:
    held = [0 if value is None else int(value) for value in values]
    return np.array(held, np.int64), np.array([value is not None for value in values], np.bool_)


def texts(values: list[str | None]) -> Blobs:
    return Blobs.of(None if value is None else value.encode() for value in values)


def plain(held: tuple[Int64s, Mask]) -> list[int | None]:
    return [value if there else None for value, there in zip(held[0].tolist(), held[1].tolist(), strict=True)]


@given(ROWS)
def test_objects_are_what_orjson_writes_and_come_back(rows: list[tuple[int | None, str | None, bool | None]]) -> None:
    of_number, of_text, of_flag = ([row[at] for row in rows] for at in range(3))
    columns = [numbers_as_json(*numbers(of_number)), texts_as_json(texts(of_text)), flags_as_json(*numbers(of_flag))]
    held = objects_of(NAMES, columns, len(rows))
    assert list(held) == [orjson.dumps(dict(zip(NAMES, row, strict=True))) for row in rows]
    number, text, flag = columns_of(NAMES, held)
    assert plain(numbers_from_json(number)) == of_number
    assert list(texts_from_json(text)) == list(texts(of_text))
    assert plain(numbers_from_json(flag)) == of_flag


def test_an_object_of_nothing_is_one() -> None:
    assert list(objects_of([], [], 2)) == [b"{}"] * 2
    assert columns_of([], Blobs.of([b"{}"])) == []


def test_what_is_no_json_at_all_is_not_there() -> None:
    assert plain(numbers_from_json(Blobs.of([None, b"7"]))) == [None, 7]
    assert list(texts_from_json(Blobs.of([None, b'"a"']))) == [None, b"a"]


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"{}",
        b'{"n":1}',
        b'{"t":"a","n":1}',
        b'{"n":1,"t":"a"',
        b'{"n":,"t":"a"}',
        b'{"n":1,"t":"a"} ',
        b'{"n":1,"t":"a',
    ],
)
def test_other_objects_are_refused_in_words(odd: bytes) -> None:
    with pytest.raises(LayoutError, match="is not what this version writes of n, t"):
        columns_of(["n", "t"], Blobs.of([b'{"n":1,"t":"a"}', odd]))


@pytest.mark.parametrize(
    "odd", [b"", b"-", b"1.5", b"1e3", b"x", b'"1"', b"nul", b"fals", b"9" * 20, b"9223372036854775808"]
)
def test_what_is_no_number_is_refused_in_words(odd: bytes) -> None:
    with pytest.raises(LayoutError, match="is no number as this version writes it"):
        numbers_from_json(Blobs.of([b"1", odd]))


@pytest.mark.parametrize("odd", [b"", b'"', b"1", b'"a', b'a"', rb'"\x"', rb'"\u00"', b'"a\\"'])
def test_what_is_no_text_is_refused_in_words(odd: bytes) -> None:
    with pytest.raises(LayoutError, match="is no text as this version writes it"):
        texts_from_json(Blobs.of([b'"a"', odd]))
