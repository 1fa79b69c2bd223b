"""Fetched record batches, given out in steps: checked, uncompressed, without aborted transactions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from aiokafka import codec
from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from app.codecs.arrays import Int64s, Mask
from app.codecs.batches.bare_records import without_content
from app.codecs.batches.inflating import INTO, MAX_BYTES, inflated, most_bytes
from app.codecs.batches.record_batches import (
    CHECKED_FROM,
    CODEC_MASK,
    CONTROL,
    HEADER_BYTES,
    TRANSACTIONAL,
    UNCOUNTED_BYTES,
    Batches,
    Uncompressed,
    batches_in,
)

STEP_RECORDS = 10_000
"""No more records are read at once, except to the end of a record batch: 5 to 15 ms of the event loop."""
_BATCH_RECORDS = 10
"""A record batch costs as much as so many records, most of it to begin its decompression."""

_UNCOMPRESS = {0: bytes, 1: codec.gzip_decode, 2: codec.snappy_decode, 3: codec.lz4_decode, 4: codec.zstd_decode}
MOST_UNREAD = 1_000_000
"""So many records of one record batch may be refused unread."""
_TOGETHER = (0, 4)
"""Not compressed, and zstd: strings one behind the other are uncompressed as one, in half the time for small ones."""


class KeptBatches(MemoryRecords):
    """What aiokafka fetched of one topic-partition, with the bytes that its own class hides."""

    def __init__(self, fetched: bytes) -> None:
        super().__init__(fetched)
        self._fetched = fetched
        self._given = 0
        self.unread = range(0)
        """Offsets, among those that were given last, of records that nobody read: their batch is too large."""

    @cached_property
    def _whole(self) -> tuple[Int64s, Batches]:
        """Where each begins, and their headers. ValueError if they are of another format."""
        return batches_in(self._fetched)

    @property
    def has_more(self) -> bool:
        """Whether `next_runs` has not given all yet."""
        return self._given < len(self._whole[0])

    @property
    def next_offset(self) -> int:
        """Behind all of them. The last record of a batch may have been compacted away: its header still knows it."""
        return _next_offset(self._whole[1])

    def next_runs(self, reader: PartitionRecords) -> list[Uncompressed]:
        """About STEP_RECORDS records, uncompressed; moves the reader's offset to fetch next behind them.

        Of a record batch of more than MAX_BYTES they are nulls, and `unread`. ValueError for a wrong checksum or
        another message format, DecompressionError for what is not compressed so.
        """
        starts, batches = self._whole[0][self._given :], self._whole[1][self._given :]
        costs = np.cumsum(batches["record_count"] + _BATCH_RECORDS)
        count = int(np.searchsorted(costs, STEP_RECORDS)) + 1
        starts, batches = starts[:count], batches[:count]
        if not len(batches):
            return []
        ends = starts + UNCOUNTED_BYTES + batches["length"]
        most = self._most_bytes(starts, ends, batches)
        count = max(1, int(np.searchsorted(np.cumsum(most), MAX_BYTES, side="right")))
        starts, ends, batches = starts[:count], ends[:count], batches[:count]
        if reader._check_crcs:
            self._check_sums(starts, ends, batches)
        wanted = self._is_data(reader, starts, ends, batches)
        self.unread = range(0)
        if wanted[0] and most[0] > MAX_BYTES:
            runs = [self._large(int(starts[0]), int(ends[0]), batches)]
        else:
            runs = list(self._uncompressed(starts[wanted], ends[wanted], batches[wanted]))
        self._given += len(batches)
        reader.next_fetch_offset = _next_offset(batches)
        return runs

    def _most_bytes(self, starts: Int64s, ends: Int64s, batches: Batches) -> Int64s:
        codecs = (batches["attributes"] & CODEC_MASK).astype(np.int64)
        return most_bytes(np.frombuffer(self._fetched, np.uint8), starts + HEADER_BYTES, ends, codecs)

    def _large(self, start: int, end: int, batch: Batches) -> Uncompressed:
        """One record batch that may be too large. ValueError if it is, and it is not known where its records stand."""
        way, compressed = int(batch["attributes"][0]) & CODEC_MASK, self._fetched[start + HEADER_BYTES : end]
        payload = inflated(compressed, way) if way in INTO else _UNCOMPRESS[way](compressed)
        if payload is not None:
            return Uncompressed(payload, batch)
        base, count = int(batch["base_offset"][0]), int(batch["record_count"][0])
        if count > MOST_UNREAD or count != batch["last_offset_delta"][0] + 1:
            raise ValueError(f"the record batch at offset {base} is of more than {MAX_BYTES} bytes, uncompressed")
        self.unread = range(base, base + count)
        return Uncompressed(without_content(count), batch)

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

    def _uncompressed(self, starts: Int64s, ends: Int64s, batches: Batches) -> Iterator[Uncompressed]:
        codecs = (batches["attributes"] & CODEC_MASK).tolist()
        places = list(zip((starts + HEADER_BYTES).tolist(), ends.tolist(), strict=True))
        for kind, numbers in itertools.groupby(range(len(places)), codecs.__getitem__):
            run = list(numbers)
            for some in [run] if kind in _TOGETHER else [[at] for at in run]:
                compressed = b"".join(self._fetched[start:end] for start, end in places[some[0] : some[-1] + 1])
                yield Uncompressed(_UNCOMPRESS[kind](compressed), batches[some[0] : some[-1] + 1])


def _next_offset(batches: Batches) -> int:
    return int(batches["base_offset"][-1]) + int(batches["last_offset_delta"][-1]) + 1
