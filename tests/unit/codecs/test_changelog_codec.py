"""Changelog records byte by byte: what stands in a log today must be read tomorrow (docs/formats.md)."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.stored import changelog as codec
from app.codecs.stored import row_keys
from app.domain.errors import LayoutError
from app.domain.fingerprint import INT64_MAX, INT64_MIN
from app.domain.measures.kinds import Count
from app.domain.records import Value
from app.domain.rows import RowKey
from app.domain.source import MAX_TEXT_BYTES, Column, Kind
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.tumbling import Tumbling
from tests.support.material.stored.row_keys import encode_key
from tests.support.material.trips import TRIPS
from tests.support.material.views import UNGROUPED

HOUR_US = 3_600_000_000
EVERY_KIND = replace(TRIPS, columns=(*TRIPS.columns, Column("name", Kind.TEXT, True)))
GROUPS = tuple(Group(name, name) for name in ("zone", "name", "shared", "begun_us", "people"))
WINDOWED = View(258, "grouped", EVERY_KIND, GROUPS, Tumbling("begun_us", 3600), (Count("n"),), 0, 0, "every kind")
INTEGERS = replace(WINDOWED, name="integers", groups=(GROUPS[0], GROUPS[3]))
TOTAL = replace(WINDOWED, name="total", window=AllTime())
VIEWS = pytest.mark.parametrize("view", [WINDOWED, INTEGERS, TOTAL, UNGROUPED], ids=lambda view: view.name)

VERSION = "0a0b0c0d"
PINNED = replace(INTEGERS)
PINNED.__dict__["version"] = VERSION
PINNED_TOTAL = replace(TOTAL, groups=(GROUPS[1],))
PINNED_TOTAL.__dict__["version"] = VERSION
"""Views whose version is given, so that golden keys outlive changes of the definition."""

BLOCK = codec.BlockKey(258, VERSION, 4, 65_535)


def group_values(view: View, group: Group) -> st.SearchStrategy[Value]:
    kind = view.source.by_name[group.column].kind
    if kind is Kind.TEXT:
        return st.one_of(st.none(), st.text(max_size=12))
    return st.one_of(st.none(), st.booleans() if kind is Kind.FLAG else st.integers(INT64_MIN + 1, INT64_MAX))


def keys_of(view: View) -> st.SearchStrategy[RowKey]:
    windowed = view.window.ends
    windows = st.integers(-(2**31), 2**31).map(lambda n: n * HOUR_US) if windowed else st.none()
    return st.builds(RowKey, windows, st.tuples(*(group_values(view, group) for group in view.groups)))


def columns(view: View, keys: list[RowKey]) -> tuple[np.ndarray | None, list[object]]:
    """Keys as the worker holds them."""
    windowed = view.window.ends
    windows = np.array([key.window_start_us for key in keys], np.int64) if windowed else None
    held: list[object] = []
    for at, group in enumerate(view.groups):
        values = [key.group[at] for key in keys]
        if view.source.by_name[group.column].kind is Kind.TEXT:
            held.append(values)
        else:
            held.append(np.array([codec.NULL_INTEGER if v is None else int(v) for v in values], np.int64))
    return windows, held


@VIEWS
@given(data=st.data())
def test_a_key_is_read_as_it_was_written_for_every_kind_of_group(view: View, data: st.DataObject) -> None:
    key = data.draw(keys_of(view))
    assert row_keys.decode_key(view, encode_key(view, key)) == key


@VIEWS
@given(data=st.data())
def test_two_rows_never_share_a_key(view: View, data: st.DataObject) -> None:
    """Null is a group of its own: not 0, not the empty text."""
    one, other = data.draw(keys_of(view)), data.draw(keys_of(view))
    assert (encode_key(view, one) == encode_key(view, other)) == (one == other)


@VIEWS
@given(data=st.data())
def test_many_keys_at_once_are_the_keys_one_by_one(view: View, data: st.DataObject) -> None:
    keys = data.draw(st.lists(keys_of(view), max_size=6))
    windows, groups = columns(view, keys)
    encoded = row_keys.encode_keys(view, windows, groups, len(keys))
    assert encoded == [encode_key(view, key) for key in keys]
    again_windows, again_groups = row_keys.decode_keys(view, encoded)
    assert row_keys.encode_keys(view, again_windows, again_groups, len(keys)) == encoded


@given(st.integers(0, 2**31), st.integers(0, 2**31), st.data())
def test_keys_of_a_view_sort_by_window_whatever_the_group(one: int, other: int, data: st.DataObject) -> None:
    """From 1970 on; what reads a range of windows need not look at the rest."""
    keys = [data.draw(keys_of(WINDOWED))._replace(window_start_us=n * HOUR_US) for n in (one, other)]
    first, second = (encode_key(WINDOWED, key) for key in keys)
    if one != other:
        assert (first < second) == (one < other)


@given(st.lists(st.lists(st.integers(INT64_MIN, INT64_MAX), min_size=5, max_size=5), max_size=5))
def test_cells_are_read_as_they_were_written(rows: list[list[int]]) -> None:
    cells = np.array(rows, np.int64).reshape(len(rows), 5)
    assert codec.decode_rows(codec.encode_rows(cells), 5).tolist() == rows


@given(
    st.builds(
        codec.BlockKey,
        st.integers(1, 65_535),
        st.binary(min_size=4, max_size=4).map(bytes.hex),
        st.integers(1, 127),
        st.integers(0, 2**28 - 1),
    ),
    st.integers(0, 65_536),
    st.integers(INT64_MIN, INT64_MAX),
)
def test_a_block_is_read_as_it_was_written(block: codec.BlockKey, count: int, fingerprint: int) -> None:
    key, value = codec.encode_block(block, count, fingerprint)
    assert codec.decode_block(key, value) == (block, count, fingerprint)
    assert codec.kind_of(key) == codec.BLOCK
    assert codec.view_of(key) == (block.view_number, block.version)


def test_the_longest_text_that_bounds_let_through_fits_into_a_key() -> None:
    key = RowKey(None, ("é" * (MAX_TEXT_BYTES // 2) + "x",))
    assert row_keys.decode_key(PINNED_TOTAL, encode_key(PINNED_TOTAL, key)) == key


@pytest.mark.parametrize(
    ("view", "key", "golden"),
    [
        # layout, row | view | version | window kind | start | tag, zone | tag, begun_us
        (PINNED, RowKey(HOUR_US, (132, None)),
         "0101 0102 0a0b0c0d 01 00000000d693a400 010000000000000084 000000000000000000"),
        (PINNED, RowKey(-HOUR_US, (1, -1)),
         "0101 0102 0a0b0c0d 01 ffffffff296c5c00 010000000000000001 01ffffffffffffffff"),
        # layout, row | view | version | window kind | tag, length, text
        (PINNED_TOTAL, RowKey(None, ("é1",)), "0101 0102 0a0b0c0d 00 020003c3a931"),
        (PINNED_TOTAL, RowKey(None, ("",)), "0101 0102 0a0b0c0d 00 020000"),
        (PINNED_TOTAL, RowKey(None, (None,)), "0101 0102 0a0b0c0d 00 00"),
    ],
)  # fmt: skip
def test_stored_row_keys_of_layout_1_stay_readable(view: View, key: RowKey, golden: str) -> None:
    stored = bytes.fromhex(golden)
    assert [encode_key(view, key)] == row_keys.encode_keys(view, *columns(view, [key]), 1) == [stored]
    assert row_keys.decode_key(view, stored) == key


def test_stored_row_values_of_layout_1_stay_readable() -> None:
    stored = bytes.fromhex("0100 0200000000000000 feffffffffffffff ffffffffffffff7f")
    assert codec.encode_rows(np.array([[2, -2, INT64_MAX]])) == [stored]
    assert codec.decode_rows([stored], 3).tolist() == [[2, -2, INT64_MAX]]


def test_stored_blocks_of_layout_1_stay_readable() -> None:
    key = bytes.fromhex("0103 0102 0a0b0c0d 04 0000ffff")
    value = bytes.fromhex("01 0300000000000000 ffffffffffffffff")
    assert codec.encode_block(BLOCK, 3, -1) == (key, value)
    assert codec.decode_block(key, value) == (BLOCK, 3, -1)


def test_stored_marker_keys_of_layout_1_stay_readable() -> None:
    assert codec.marker_key(258) == bytes.fromhex("0102 0102")
    assert codec.kind_of(codec.marker_key(258)) == codec.MARKER


@pytest.mark.parametrize("key", [b"", b"\x01", b"\x00\x01rest", b"\x02\x01rest"])
def test_a_key_of_another_layout_is_refused_in_words(key: bytes) -> None:
    with pytest.raises(LayoutError, match="is not of layout 1"):
        codec.kind_of(key)


GOOD_KEY = encode_key(WINDOWED, RowKey(HOUR_US, (132, "abc", True, 5, 6)))


@pytest.mark.parametrize("length", range(len(GOOD_KEY)))
def test_a_key_that_ends_too_soon_is_refused_wherever_it_ends(length: int) -> None:
    with pytest.raises(LayoutError):
        row_keys.decode_key(WINDOWED, GOOD_KEY[:length])


def test_a_key_with_bytes_behind_its_groups_is_refused() -> None:
    with pytest.raises(LayoutError, match="bytes long, its groups end at"):
        row_keys.decode_key(WINDOWED, GOOD_KEY + b"\x00")


def test_a_key_of_another_view_or_version_is_refused() -> None:
    with pytest.raises(LayoutError, match="does not begin like a row of integers version"):
        row_keys.decode_key(INTEGERS, GOOD_KEY)


@pytest.mark.parametrize(
    ("view", "tag"), [(PINNED, codec.TEXT_TAG), (PINNED, 7), (PINNED_TOTAL, codec.INTEGER_TAG), (PINNED_TOTAL, 7)]
)
def test_a_group_of_another_type_is_refused(view: View, tag: int) -> None:
    """An integer's tag before a text would give a text that nobody wrote."""
    key = encode_key(view, RowKey(0, (1, 1)) if view is PINNED else RowKey(None, ("text",)))
    at = len(row_keys.row_prefix(view)) + 8 * (view is PINNED)
    with pytest.raises(LayoutError, match=f"group tag {tag}"):
        row_keys.decode_key(view, key[:at] + bytes((tag,)) + key[at + 1 :])


def test_a_text_group_that_is_no_utf_8_is_refused() -> None:
    with pytest.raises(LayoutError, match="holds no text"):
        row_keys.decode_key(PINNED_TOTAL, row_keys.row_prefix(PINNED_TOTAL) + b"\x02\x00\x01\xff")


def test_rows_that_a_correction_has_set_say_so() -> None:
    cells, corrected = np.array([[1, 2], [3, 4]]), np.array([False, True])
    stored = codec.encode_rows(cells, corrected)
    assert [value[:2] for value in stored] == [b"\x01\x00", b"\x01\x01"]
    matrix = np.frombuffer(b"".join(stored), np.uint8).reshape(2, -1)
    assert codec.decode_row_matrix(matrix).tolist() == cells.tolist()
    found = codec.corrected_of(matrix)
    assert found is not None
    assert found.tolist() == corrected.tolist()
    assert codec.corrected_of(matrix[:1]) is None


@pytest.mark.parametrize(
    "value",
    [b"", b"\x01\x00" + bytes(23), b"\x01\x00" + bytes(25), b"\x02\x00" + bytes(24), b"\x01\x02" + bytes(24)],
    ids=["nothing", "short", "long", "layout 2", "flags"],
)
def test_a_row_value_of_another_layout_or_width_is_refused_among_good_ones(value: bytes) -> None:
    """Layout 1 knows one flag: what a later one means by others must not be passed over."""
    (good,) = codec.encode_rows(np.zeros((1, 3), np.int64))
    with pytest.raises(LayoutError, match="reads 26 bytes, 0100 or 0101"):
        codec.decode_rows([good, value, good], 3)


@pytest.mark.parametrize(
    "value", [struct.pack("<Bqq", 2, 0, 0), struct.pack("<Bq", 1, 0), struct.pack("<Bqqq", 1, 0, 0, 0)]
)
def test_a_block_of_another_layout_or_width_is_refused(value: bytes) -> None:
    key, _ = codec.encode_block(BLOCK, 0, 0)
    with pytest.raises(LayoutError, match="is not of layout 1"):
        codec.decode_block(key, value)
