"""Keys of rows by column are those that are made and read one by one, to the byte and to the refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.codecs.stored.changelog import value_of
from app.codecs.stored.row_key_columns import decode_key_columns, encode_key_columns
from app.codecs.stored.row_keys import decode_key, row_prefix
from app.domain.errors import LayoutError
from app.domain.rows import RowKey
from app.domain.view import View
from tests.support.material.stored.row_keys import encode_key
from tests.support.material.zone_rows import TOTAL, VIEW

TEXTS = replace(VIEW, name="texts", groups=(VIEW.groups[1], VIEW.groups[0], replace(VIEW.groups[1], name="whom")))
INTEGERS = replace(VIEW, name="integers", groups=VIEW.groups[:1])
ALL_TIME = replace(TOTAL, name="all_time", groups=VIEW.groups)
VIEWS = pytest.mark.parametrize("view", [VIEW, TEXTS, INTEGERS, ALL_TIME, TOTAL], ids=lambda view: view.name)
NUMBERS, NAMES = st.none() | st.integers(-(2**63) + 1, 2**63 - 1), st.none() | st.text(max_size=9)


def keys_of(view: View) -> st.SearchStrategy[RowKey]:
    windows = st.integers(-(2**63), 2**63 - 1) if view.window.ends else st.none()
    return st.builds(RowKey, windows, st.tuples(*(NAMES if text else NUMBERS for text in view.texts)))


@VIEWS
@given(data=st.data())
def test_keys_are_written_and_read_as_one_by_one(view: View, data: st.DataObject) -> None:
    """Wherever in a buffer they stand, and whatever they begin with: rows of several kinds have one key behind it."""
    keys = data.draw(st.lists(keys_of(view), max_size=6))
    stored = [encode_key(view, key) for key in keys]
    other = len(row_prefix(view)) * b"?"
    shuffled = Blobs.of([b"before", *(other + key[len(other) :] for key in stored), b"", None])[1:-2][::-1]
    windows, groups = decode_key_columns(view, shuffled)
    assert (windows is None) == (not view.window.ends)
    starts = [None] * len(keys) if windows is None else windows.tolist()
    values = [tuple(map(value_of, row)) for row in zip(*groups, strict=True)] if groups else [()] * len(keys)
    assert [RowKey(*row) for row in zip(starts, values, strict=True)] == keys[::-1]
    assert list(encode_key_columns(view, windows, groups, len(keys))) == stored[::-1]


@VIEWS
@given(data=st.data())
def test_what_is_no_key_is_refused_alike(view: View, data: st.DataObject) -> None:
    """A byte changed, left out, put in, or the end cut off."""
    stored, good = (encode_key(view, data.draw(keys_of(view))) for _ in range(2))
    at = data.draw(st.integers(len(row_prefix(view)), len(stored)))
    byte = data.draw(st.binary(max_size=2))
    damaged = stored[:at] + byte + stored[at + data.draw(st.integers(0, 2)) :]
    expected = _told(lambda: decode_key(view, damaged))
    assert _told(lambda: _last_key(view, [good, damaged])) == expected
    assert isinstance(expected, RowKey) or _told(lambda: _last_key(view, [damaged, good])) == expected


def _last_key(view: View, stored: list[bytes]) -> RowKey:
    windows, groups = decode_key_columns(view, Blobs.of(stored))
    return RowKey(None if windows is None else int(windows[-1]), tuple(value_of(held[-1]) for held in groups))


def _told(decode: Callable[[], RowKey]) -> RowKey | str:
    try:
        return decode()
    except LayoutError as refused:
        return str(refused)


def test_a_letter_that_two_keys_share_is_no_letter() -> None:
    """Behind one another the texts would be UTF-8."""
    view = replace(ALL_TIME, groups=VIEW.groups[1:])
    halves = [row_prefix(view) + b"\x02\x00\x01" + half for half in (b"\xc3", b"\xa9")]
    with pytest.raises(LayoutError, match="holds no text"):
        decode_key_columns(view, Blobs.of(halves))


def test_a_text_that_its_length_cannot_tell_of_is_refused() -> None:
    with pytest.raises(ValueError, match="a group's text of 65536 bytes: 65535 are the most"):
        encode_key_columns(TEXTS, np.array([0]), [["x" * 65_536], np.array([1]), ["y"]], 1)
