"""Fetched record batches, given out in steps: checked, uncompressed, read, without aborted transactions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from aiokafka import codec
from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from app.codecs.arrays import Int64s, Mask
from app.codecs.batches.inflating import GZIP, LZ4, MAX_BYTES, NONE, SNAPPY, ZSTD, most_bytes
from app.codecs.batches.record_batches import (
    CHECKED_FROM,
    CODEC_MASK,
    CONTROL,
    HEADER_BYTES,
    TRANSACTIONAL,
    UNCOUNTED_BYTES,
    Batches,
    Records,
    Uncompressed,
    batches_in,
    read_records,
    refused_records,
)
from app.codecs.batches.uncompressing import REFUSED, uncompressed
from app.domain.records import TOO_LARGE, UNREADABLE_BATCH

STEP_RECORDS = 10_000
"""No more records are read at once, except to the end of a record batch: 5 to 15 ms of the event loop."""
MOST_RECORDS = 1_000_000
"""A record batch of more is not read: seven bytes make a record, and hundreds of these a byte of what is compressed."""
_BATCH_RECORDS = 10
"""A record batch costs as much as so many records, most of it to begin its decompression."""

_UNCOMPRESS = {
    NONE: bytes,
    GZIP: codec.gzip_decode,
    SNAPPY: codec.snappy_decode,
    LZ4: codec.lz4_decode,
    ZSTD: codec.zstd_decode,
}
_TOGETHER = (NONE, ZSTD)
"""Not compressed, and zstd: strings one behind the other are uncompressed as one, in half the time for small ones."""


class _Step(NamedTuple):
    """Batches that are read together: where each begins and ends, its header, and whether it holds records to read."""

    starts: Int64s
    ends: Int64s
    batches: Batches
    wanted: Mask

    def at(self, which: slice | Mask) -> _Step:
        """Some of them."""
        return _Step(self.starts[which], self.ends[which], self.batches[which], self.wanted[which])


class KeptBatches(MemoryRecords):
    """What aiokafka fetched of one topic-partition, with the bytes that its own class hides."""

    def __init__(self, fetched: bytes) -> None:
        super().__init__(fetched)
        self._fetched = fetched
        self._given = 0
        self._alone: list[_Step] = []
        self._why = ""

    @cached_property
    def _whole(self) -> tuple[Int64s, Batches]:
        """Where each begins, and their headers. ValueError if they are of another format."""
        return batches_in(self._fetched)

    @property
    def has_more(self) -> bool:
        """Whether `next_records` has not given all yet."""
        return self._given < len(self._whole[0])

    @property
    def next_offset(self) -> int:
        """Behind all of them. The last record of a batch may have been compacted away: its header still knows it."""
        return _next_offset(self._whole[1])

    def next_records(self, reader: PartitionRecords, from_offset: int) -> Records:
        """About STEP_RECORDS records at this offset or above; moves the reader's offset to fetch next behind them.

        Those of a record batch that cannot be read, or of more than MAX_BYTES or MOST_RECORDS, are nulls, and `unread`.
        ValueError for a wrong checksum or another message format.
        """
        if not self._alone:
            step, is_large = self._next_step(reader)
            if not is_large:
                try:
                    records = read_records(list(self._uncompressed(step)), from_offset)
                except REFUSED:
                    pass  # one of them is it
                else:
                    return self._passed(reader, step, records)
            self._alone = [step.at(slice(at, at + 1)) for at in range(len(step.batches))]
        return self._read_alone(reader, from_offset)

    def _next_step(self, reader: PartitionRecords) -> tuple[_Step, bool]:
        """The batches that come next; and whether one of them may be of more bytes or records than are read."""
        starts, batches = self._whole[0][self._given :], self._whole[1][self._given :]
        costs = np.cumsum(batches["record_count"].astype(np.int64) + _BATCH_RECORDS)
        count = int(np.searchsorted(costs, STEP_RECORDS)) + 1
        starts, batches = starts[:count], batches[:count]
        ends = starts + UNCOUNTED_BYTES + batches["length"]
        most = self._most_bytes(starts, ends, batches)
        count = max(1, int(np.searchsorted(np.cumsum(most), MAX_BYTES, side="right")))
        starts, ends, batches = starts[:count], ends[:count], batches[:count]
        if reader._check_crcs:
            self._check_sums(starts, ends, batches)
        is_large = most[0] > MAX_BYTES or bool((batches["record_count"] > MOST_RECORDS).any())
        return _Step(starts, ends, batches, self._is_data(reader, starts, ends, batches)), is_large

    def _passed(self, reader: PartitionRecords, step: _Step, records: Records) -> Records:
        self._given += len(step.batches)
        reader.next_fetch_offset = _next_offset(step.batches)
        return records

    def _most_bytes(self, starts: Int64s, ends: Int64s, batches: Batches) -> Int64s:
        codecs = (batches["attributes"] & CODEC_MASK).astype(np.int64)
        return most_bytes(np.frombuffer(self._fetched, np.uint8), starts + HEADER_BYTES, ends, codecs)

    def _read_alone(self, reader: PartitionRecords, from_offset: int) -> Records:
        """The next of the batches that are read one by one, or the next records of one that is refused."""
        step, found = self._alone[0], None if self._why else self._record_batch(self._alone[0], from_offset)
        if isinstance(found, str):
            self._why = found
        elif found is not None:
            del self._alone[0]
            return self._passed(reader, step, found)
        base, count = int(step.batches["base_offset"][0]), int(step.batches["record_count"][0])
        if count != step.batches["last_offset_delta"][0] + 1:
            raise ValueError(f"the record batch at offset {base} is {self._why}, and tells not where its records stand")
        first = max(from_offset, base)
        some = range(first, min(base + count, first + STEP_RECORDS))
        records = refused_records(step.batches, some, self._why)
        if some.stop < base + count:
            reader.next_fetch_offset = some.stop
            return records
        self._why = ""
        del self._alone[0]
        return self._passed(reader, step, records)

    def _record_batch(self, step: _Step, from_offset: int) -> Records | str:
        """Records of the one batch, or why they are refused."""
        if not step.wanted[0]:
            return read_records([], from_offset)
        if step.batches["record_count"][0] > MOST_RECORDS:
            return TOO_LARGE
        (way,), (start,), (end,) = (step.batches["attributes"] & CODEC_MASK).tolist(), step.starts, step.ends
        try:
            payload = uncompressed(self._fetched[start + HEADER_BYTES : end], way)
            return TOO_LARGE if payload is None else read_records([Uncompressed(payload, step.batches)], from_offset)
        except REFUSED:
            return UNREADABLE_BATCH

    def _check_sums(self, starts: Int64s, ends: Int64s, batches: Batches) -> None:
        sums = batches["checksum"].tolist()
        for at, (start, end) in enumerate(zip((starts + CHECKED_FROM).tolist(), ends.tolist(), strict=True)):
            if calc_crc32c(self._fetched[start:end]) != sums[at]:
                raise ValueError(f"wrong checksum of the record batch at offset {batches['base_offset'][at]}")

    def _is_data(self, reader: PartitionRecords, starts: Int64s, ends: Int64s, batches: Batches) -> Mask:
        """Which batches hold records to read: neither control records nor an aborted transaction's."""
        control = (batches["attributes"] & CONTROL) != 0
        wanted: Mask = ~control
        if reader._isolation_level != READ_COMMITTED or not (reader._aborted_transactions or reader._aborted_producers):
            return wanted
        for at, producer in enumerate(batches["producer_id"].tolist()):
            reader._consume_aborted_up_to(int(batches["base_offset"][at]))
            if control[at]:
                if reader._contains_abort_marker(DefaultRecordBatch(self._fetched[starts[at] : ends[at]])):
                    reader._aborted_producers.discard(producer)
            elif batches["attributes"][at] & TRANSACTIONAL and producer in reader._aborted_producers:
                wanted[at] = False
        return wanted

    def _uncompressed(self, step: _Step) -> Iterator[Uncompressed]:
        starts, ends, batches, _ = step.at(step.wanted)
        codecs = (batches["attributes"] & CODEC_MASK).tolist()
        places = list(zip((starts + HEADER_BYTES).tolist(), ends.tolist(), strict=True))
        for kind, numbers in itertools.groupby(range(len(places)), codecs.__getitem__):
            run = list(numbers)
            for some in [run] if kind in _TOGETHER else [[at] for at in run]:
                compressed = b"".join(self._fetched[start:end] for start, end in places[some[0] : some[-1] + 1])
                yield Uncompressed(_UNCOMPRESS[kind](compressed), batches[some[0] : some[-1] + 1])


def _next_offset(batches: Batches) -> int:
    return int(batches["base_offset"][-1]) + int(batches["last_offset_delta"][-1]) + 1
