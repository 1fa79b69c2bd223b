"""Spans are cut around records that Kafka's client cannot read."""

from __future__ import annotations

import pytest

from app.domain.records import TOO_LARGE, UNREADABLE_BATCH, Place
from spark_batch.errors import Invalid
from spark_batch.source.around import MOST_PIECES, pieces_around, unreadable
from spark_batch.stored.cut import Span

pytestmark = pytest.mark.unit

GREEN, YELLOW = Span("green", 0, 10, 20), Span("yellow", 1, 0, 5, "id")


def test_each_list_has_every_topic_partition_once_and_all_together_what_can_be_read() -> None:
    unread = [Place("green", 0, offset) for offset in (17, 12, 13)] + [Place("yellow", 1, 0)]
    assert pieces_around([GREEN, YELLOW], unread) == [
        [Span("green", 0, 10, 12), Span("yellow", 1, 1, 5, "id")],
        [Span("green", 0, 14, 17)],
        [Span("green", 0, 18, 20)],
    ]


def test_spans_that_can_be_read_stay_as_they_are_and_of_one_that_cannot_nothing_is_left() -> None:
    assert pieces_around([GREEN, YELLOW], []) == [[GREEN, YELLOW]]
    assert pieces_around([GREEN], [Place("green", 0, offset) for offset in range(10, 20)]) == [[]]
    assert pieces_around([], []) == [[]]


def test_more_batches_than_can_be_gone_around_are_told_of() -> None:
    unread = [Place("green", 0, 2 * n) for n in range(MOST_PIECES + 1)]
    with pytest.raises(Invalid, match=r"green-0 \[0, 1000\): 101 records, the first at offset 0"):
        pieces_around([Span("green", 0, 0, 1_000)], unread)


def test_only_records_of_batches_that_cannot_be_read_are_gone_around() -> None:
    """Java reads those that are too large."""
    told = {Place("green", 0, 1): TOO_LARGE, Place("green", 0, 2): UNREADABLE_BATCH}
    assert unreadable(told) == [Place("green", 0, 2)]
