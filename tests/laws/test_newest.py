"""Pages of the newest records, one after the other, are all records: none twice, none left out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.batches.record_headers import RecordHeaders
from app.domain.records import TopicPartition
from app.edge.published import newest as paging
from app.edge.published.newest import NewestPage, newest
from app.engine.core.batch import Batch

pytestmark = pytest.mark.laws

TOPIC = "results"
Log = dict[int, int]
"""Offset to timestamp: offsets that are missing are control records, or compacted away."""

logs = st.dictionaries(st.integers(0, 40), st.integers(0, 5), max_size=12)


class Topic:
    """Partitions that can be read, from where they begin."""

    def __init__(self, partitions: Mapping[int, Log], starts: Mapping[int, int]) -> None:
        self.partitions = {p: {o: t for o, t in log.items() if o >= starts[p]} for p, log in partitions.items()}
        self.starts = dict(starts)
        self.ends = {p: max([self.starts[p], *(offset + 1 for offset in log)]) for p, log in self.partitions.items()}

    async def read(self, place: TopicPartition, from_offset: int, to_offset: int) -> Batch:
        assert self.starts[place.partition] <= from_offset < to_offset <= self.ends[place.partition]
        log = self.partitions[place.partition]
        offsets = sorted(offset for offset in log if from_offset <= offset < to_offset)
        times, nothing = [log[offset] for offset in offsets], [None] * len(offsets)
        arrays = np.array(offsets, np.int64), np.array(times, np.int64)
        headers = RecordHeaders.none(len(offsets))
        return Batch(TOPIC, place.partition, from_offset, to_offset, *arrays, nothing, nothing, headers)

    async def page(self, ends: Mapping[int, int], limit: int) -> NewestPage:
        return await newest(self.read, TOPIC, self.starts, ends, limit)


def told(page: NewestPage) -> list[tuple[int, int, int]]:
    return [(one.timestamp_ms, one.batch.partition, one.offset) for one in page.records]


async def pages(topic: Topic, limit: int) -> list[list[tuple[int, int, int]]]:
    ends: Mapping[int, int] | None = topic.ends
    found = []
    while ends is not None:
        page = await topic.page(ends, limit)
        found.append(told(page))
        ends = page.ends
    return found


@given(st.lists(logs, min_size=1, max_size=3), st.integers(1, 7), st.integers(0, 20))
async def test_all_pages_are_all_records_once(drawn: list[Log], limit: int, start: int) -> None:
    topic = Topic(dict(enumerate(drawn)), dict.fromkeys(range(len(drawn)), start))
    found = await pages(topic, limit)
    every = [one for page in found for one in page]
    assert sorted(every) == sorted((t, p, o) for p, log in topic.partitions.items() for o, t in log.items())
    assert all(len(page) == limit for page in found[:-1])
    for partition in topic.partitions:
        offsets = [offset for _, p, offset in every if p == partition]
        assert offsets == sorted(offsets, reverse=True)


@given(st.lists(logs, min_size=1, max_size=3), st.integers(1, 7))
async def test_where_timestamps_rise_with_offsets_the_newest_of_all_come_first(drawn: list[Log], limit: int) -> None:
    rising = {p: {o: min(o, 40) for o in log} for p, log in enumerate(drawn)}
    topic = Topic(rising, dict.fromkeys(rising, 0))
    every = [one for page in await pages(topic, limit) for one in page]
    assert every == sorted(every, reverse=True)


@given(st.lists(logs, min_size=1, max_size=3), st.integers(1, 7))
async def test_a_page_that_may_read_little_ends_short_and_the_next_goes_on(drawn: list[Log], limit: int) -> None:
    topic = Topic(dict(enumerate(drawn)), dict.fromkeys(range(len(drawn)), 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paging, "MOST_OFFSETS", 3)
        found = await pages(topic, limit)
    every = [one for page in found for one in page]
    assert sorted(every) == sorted((t, p, o) for p, log in topic.partitions.items() for o, t in log.items())
