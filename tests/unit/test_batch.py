"""A batch in parts is the same records at the same offsets, and every offset belongs to exactly one part."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.engine.core.batch import Batch


@given(st.lists(st.integers(1, 4), min_size=1, max_size=40), st.integers(1, 12))
def test_pieces_follow_one_another_and_hold_all_of_it(gaps: list[int], records: int) -> None:
    offsets = np.cumsum(np.array(gaps))
    values = [b"%d" % offset for offset in offsets.tolist()]
    batch = Batch(
        "rides", 0, 0, int(offsets[-1]) + 3, offsets, offsets, Blobs.of(values), Blobs.of(values), [()] * len(values)
    )
    pieces = list(batch.in_pieces(records))
    assert [value for piece in pieces for value in piece.values] == values
    assert np.concatenate([piece.offsets for piece in pieces]).tolist() == offsets.tolist()
    assert (pieces[0].base_offset, pieces[-1].next_offset) == (batch.base_offset, batch.next_offset)
    assert all(before.next_offset == after.base_offset for before, after in itertools.pairwise(pieces))
    assert all(len(piece) == records for piece in pieces[:-1])
    assert 2 * len(pieces[-1]) < 3 * records
