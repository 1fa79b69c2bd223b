"""Record batches written in columns are what Kafka's own writers write: aiokafka reads them, and so do we."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.batches.written_records import pieces, written_records
from app.codecs.blobs import Blobs
from app.engine.drive.transactions.written_batch import WrittenBatch

pytestmark = pytest.mark.laws

STRINGS = st.none() | st.binary(max_size=300)
RECORDS = st.lists(st.tuples(STRINGS, STRINGS), min_size=1, max_size=200)


@given(
    records=RECORDS,
    time_ms=st.integers(0, 2**41),
    behind=st.lists(st.integers(-(2**41), 2**41), min_size=1, max_size=9),
    producer=st.integers(0, 2**40),
    sequence=st.integers(0, 2**31 - 1),
)
def test_aiokafka_reads_what_was_written(
    records: list[tuple[bytes | None, bytes | None]], time_ms: int, behind: list[int], producer: int, sequence: int
) -> None:
    keys, values = (Blobs.of(column) for column in zip(*records, strict=True))
    times_ms = [time_ms + behind_ms for behind_ms in itertools.islice(itertools.cycle(behind), len(records))]
    batch = WrittenBatch(keys, values, np.array(times_ms))
    batch._set_producer_state(producer, 3, sequence)
    built = batch._build()
    read = DefaultRecordBatch(built)
    assert read.validate_crc()
    assert len(built) == batch.size()
    assert (read.producer_id, read.producer_epoch, read.base_sequence) == (producer, 3, sequence)
    assert read.is_transactional
    assert not read.is_control_batch
    assert read.next_offset == batch.record_count() == len(records)
    assert [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in read] == [
        (offset, at_ms, key, value, [])
        for offset, ((key, value), at_ms) in enumerate(zip(records, times_ms, strict=True))
    ]
    assert read.max_timestamp == max(times_ms)


@given(records=RECORDS, most=st.integers(1, 2_000), far_ms=st.integers(-(2**62), 2**62))
def test_pieces_hold_every_record_once_and_are_no_longer_than_allowed(
    records: list[tuple[bytes | None, bytes | None]], most: int, far_ms: int
) -> None:
    keys, values = (Blobs.of(column) for column in zip(*records, strict=True))
    cut = list(pieces(keys, values, most))
    assert [i for piece in cut for i in range(piece.start, piece.stop)] == list(range(len(records)))
    for piece in cut:
        size = len(written_records(keys[piece], values[piece], np.full(piece.stop - piece.start, far_ms)))
        assert size <= most or piece.stop == piece.start + 1
