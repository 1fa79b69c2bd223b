"""A batch in parts is the same records at the same offsets, each in exactly one; so are outputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.engine.core.batch import Batch, MadeOutputs, Output, OutputColumns, Outputs, in_parts


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


def test_outputs_that_are_made_when_they_are_asked_for_are_those_of_a_list() -> None:
    asked = list[int]()

    def make(nth: int) -> Output:
        asked.append(nth)
        return Output("topic", None, b"%d" % nth)

    made = MadeOutputs(4, make)
    assert (len(made), asked) == (4, [])
    assert made[-1].value == b"3"
    assert [output.value for output in made[1:3]] == [b"1", b"2"]
    assert asked == [3, 1, 2]
    assert list(Outputs([made, [made[0]]]))[3:] == [made[3], made[0]]
    with pytest.raises(IndexError):
        made[4]


def test_outputs_in_columns_read_like_any_and_are_told_from_the_others() -> None:
    columns = OutputColumns("paid", 3, Blobs.of([b"a", None]), Blobs.of([b"1", b"2"]), np.array([7, 8]))
    one = Output("late", b"k", b"v")
    outputs = Outputs([[one], columns, []])
    paid = [Output("paid", b"a", b"1", (), 3, 7), Output("paid", None, b"2", (), 3, 8)]
    assert list(outputs) == [one, *paid]
    assert list(columns[1:]) == paid[1:]
    others, told = in_parts(outputs)
    assert told is columns
    assert list(others) == [one]
    assert [list(part) for part in in_parts([one])] == [[one]]


def test_outputs_are_parted_in_their_order() -> None:
    """What stands in columns is not put before what stood before it, nor behind what stood behind it."""
    columns = OutputColumns("paid", None, Blobs.of([b"a", b"b", b"c"]), Blobs.of([b"1", b"2", b"3"]))
    first, second, third = (Output("late", name, b"v") for name in (b"k", b"l", b"m"))
    parts = in_parts(
        Outputs([[], columns, columns[:0], [first], [], MadeOutputs(1, lambda _: second), columns, [third]])
    )
    assert [list(part) for part in parts] == [[*columns], [first, second], [*columns], [third]]
    assert list(columns.at(np.array([2, 0]))) == [Output("paid", b"c", b"3"), Output("paid", b"a", b"1")]
