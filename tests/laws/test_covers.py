"""Which offsets a table holds, whatever ranges it was given in."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.records import TopicPartition
from spark_batch.errors import Invalid
from spark_batch.layers.covers import missing, one_of_each, together
from spark_batch.stored.cut import Span

Offsets = set[tuple[TopicPartition, int]]

SPANS = st.builds(
    lambda topic, partition, start, length: Span(topic, partition, start, start + length),
    st.sampled_from(["a", "b"]),
    st.integers(0, 1),
    st.integers(0, 12),
    st.integers(0, 6),
)


def offsets(spans: Iterable[Span]) -> Offsets:
    """Each once, or it fails."""
    found = [(span.at, offset) for span in spans for offset in range(span.start, span.end)]
    assert len(found) == len(set(found))
    return set(found)


@given(st.lists(SPANS, max_size=8))
def test_what_is_missing_is_read_once_and_then_all_is_held(wanted: list[Span]) -> None:
    held = list[Span]()
    for span in wanted:
        lacking = missing([span], held)
        assert offsets(lacking) == offsets([span]) - offsets(held)
        held = together(held, lacking)
        assert missing([span], held) == []
    assert held == sorted(held, key=lambda one: (*one.at, one.start))
    assert all(left.at != right.at or left.end < right.start for left, right in itertools.pairwise(held))


@given(st.lists(SPANS, max_size=8))
def test_lists_of_one_of_each_have_all_of_them(spans: list[Span]) -> None:
    lists = one_of_each(spans)
    assert Counter(span for some in lists for span in some) == Counter(spans)
    assert all(len({span.at for span in some}) == len(some) for some in lists)


def test_what_is_held_is_not_added_again() -> None:
    with pytest.raises(ValueError, match="has been added already"):
        together([Span("a", 0, 0, 10)], [Span("a", 0, 9, 12)])


def test_records_of_a_topic_that_was_made_again_are_not_those_that_are_held() -> None:
    held = [Span("a", 0, 0, 10, "first")]
    assert missing([Span("a", 0, 0, 12, "first")], held) == [Span("a", 0, 10, 12, "first")]
    assert missing([Span("a", 0, 0, 12)], held) == [Span("a", 0, 10, 12)]
    with pytest.raises(Invalid, match="deleted and made again"):
        missing([Span("a", 0, 0, 5, "second")], held)
