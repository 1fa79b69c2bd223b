"""Changelog records of a view, taken in pieces, leave what a dict of the same keys and values would hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.codecs.stored.changelog import NULL_INTEGER, encode_rows
from app.domain.errors import LayoutError
from app.domain.rows import RowKey
from app.domain.view import View
from app.domain.windows.session import Session
from app.engine.core.rows.state import Rows, ViewState
from app.engine.core.rows.stored_rows import take_rows
from tests.support.material.stored.row_keys import encode_key
from tests.support.material.zone_rows import PANE_US, TOTAL, VIEW

INTEGERS = replace(VIEW, groups=VIEW.groups[:1])
SESSIONS = replace(INTEGERS, window=Session("begun_us", 10))
ZONES, NAMES = (None, 1, -1), (None, "", "a")
KEYS = {
    VIEW.name: [RowKey(n * PANE_US, (zone, name)) for n in (-1, 0, 1) for zone in ZONES for name in NAMES],
    "integers": [RowKey(n * PANE_US, (zone,)) for n in (-1, 0, 1) for zone in ZONES],
    "total": [RowKey(None, ())],
}
VIEWS = pytest.mark.parametrize(
    ("view", "keys"), list(zip((VIEW, INTEGERS, TOTAL), KEYS.values(), strict=True)), ids=[*KEYS]
)


def zone_column(key: RowKey) -> np.ndarray:
    (zone,) = key.group
    return np.array([NULL_INTEGER if zone is None else zone])


@VIEWS
@given(data=st.data())
def test_the_last_record_of_a_key_is_its_row_and_a_tombstone_removes_it(
    view: View, keys: list[RowKey], data: st.DataObject
) -> None:
    """Wherever the log is cut; tombstones of rows that are not there change nothing. Marks of corrections are kept."""
    values = st.one_of(st.none(), st.tuples(st.integers(1, 9), st.integers(-9, 9)))
    records = data.draw(st.lists(st.tuples(st.sampled_from(keys), values, st.booleans()), max_size=40))
    state, expected = ViewState(view), dict[bytes, bytes]()
    while records:
        size = data.draw(st.integers(1, len(records)))
        piece, records = records[:size], records[size:]
        stored = [
            (encode_key(view, key), row and encode_rows(np.array([row]), np.array([corrected]))[0])
            for key, row, corrected in piece
        ]
        take_rows(state, Blobs.of(key for key, _ in stored), Blobs.of(value or None for _, value in stored))
        for key, value in stored:
            if value is None:
                expected.pop(key, None)
            else:
                expected[key] = value
        assert dict(zip(*state.stored(), strict=True)) == expected
        assert len(state) == len(expected)


@given(st.data())
def test_restored_sessions_are_found_by_what_they_touch_wherever_the_log_is_cut(data: st.DataObject) -> None:
    """A session's row is written again whenever it grows: only its last end counts."""
    ends = st.one_of(st.none(), st.integers(0, 3))
    records = data.draw(st.lists(st.tuples(st.sampled_from(KEYS["integers"]), ends), max_size=40))
    state, held = ViewState(SESSIONS), dict[RowKey, int]()
    while records:
        size = data.draw(st.integers(1, len(records)))
        piece, records = records[:size], records[size:]
        cells = np.zeros((len(piece), len(SESSIONS.cells)), np.int64)
        cells[:, SESSIONS.last_at] = [(key.window_start_us or 0) + (end or 0) for key, end in piece]
        values = [None if end is None else value for (_, end), value in zip(piece, encode_rows(cells), strict=True)]
        take_rows(state, Blobs.of(encode_key(SESSIONS, key) for key, _ in piece), Blobs.of(values))
        held = {key: end for key, end in {**held, **dict(piece)}.items() if end is not None}
        for key in KEYS["integers"]:
            start_us = (key.window_start_us or 0) + 2
            asked = Rows(np.array([start_us]), [zone_column(key)], np.full((1, len(SESSIONS.cells)), start_us))
            touched = state.rows_at(state.touching(asked, 0))
            assert len(touched) == (held.get(key, 0) >= 2)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda key, value: (key, value[:-1]), "row value of 17 bytes, layout and flags 0100: this version reads 18"),
        (lambda key, value: (key, b"\x02" + value[1:]), "layout and flags 0200: this version reads 18 bytes, 0100"),
        (lambda key, value: (key + b"\x00", value), "its groups end at"),
        (lambda key, value: (key[:-1], value), "ends too soon"),
        (lambda key, value: (key[:17] + b"\x07" + key[18:], value), "group tag 7 at byte 17"),
    ],
)
def test_what_is_no_row_is_refused_in_words(damage: object, words: str) -> None:
    key, (value,) = encode_key(INTEGERS, RowKey(0, (1,))), encode_rows(np.array([[1, 2]]))
    damaged = [damage(key, value), (key, value)]  # type: ignore[operator]
    with pytest.raises(LayoutError, match=words):
        take_rows(ViewState(INTEGERS), Blobs.of(k for k, _ in damaged), Blobs.of(v for _, v in damaged))
