"""What an alert watches stands in the changelog under a kind of its own, which older versions refuse."""

from __future__ import annotations

import pytest

from app.codecs.stored.changelog import WATCHED, kind_of
from app.codecs.stored.halves import (
    StoredHalf,
    WaitingHalf,
    decode_half,
    encode_half,
    half_head,
    half_key,
    side_and_offset,
)
from app.domain.errors import LayoutError
from app.domain.pairs.alert import END, START
from tests.support.material.pairing.calls import LONG, WHOLE

KEY = half_key(LONG, START, 258)


def test_its_keys_are_told_from_those_of_joins_by_kind() -> None:
    assert bytes.fromhex(f"01090001{LONG.version}000000000000000102") == KEY
    assert kind_of(KEY) == WATCHED
    assert KEY.startswith(half_head(LONG))
    assert not KEY.startswith(half_head(WHOLE))
    assert side_and_offset(half_key(LONG, END, 7)) == (END, 7)


def test_a_beginning_that_waits_keeps_what_its_alert_will_say() -> None:
    half = StoredHalf(START, 258, "c1", 5, WaitingHalf(0, None, None, (), {"place": None}))
    assert decode_half(KEY, encode_half(half)) == half


@pytest.mark.parametrize("kind", [0, 7, 11, 255])
def test_kinds_that_nobody_writes_are_refused(kind: int) -> None:
    with pytest.raises(LayoutError, match=f"of kind {kind}"):
        kind_of(bytes([1, kind]) + KEY[2:])
