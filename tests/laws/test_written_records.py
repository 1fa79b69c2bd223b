"""Record batches written in columns are what Kafka's own writers write: aiokafka reads them, and so do we."""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.batches.written_records import pieces, written_records
from app.codecs.blobs import Blobs
from app.engine.drive.kafka.written_batch import WrittenBatch

pytestmark = pytest.mark.laws

STRINGS = st.none() | st.binary(max_size=300)
RECORDS = st.lists(st.tuples(STRINGS, STRINGS), min_size=1, max_size=200)


@given(
    records=RECORDS, time_ms=st.integers(0, 2**41), producer=st.integers(0, 2**40), sequence=st.integers(0, 2**31 - 1)
)
def test_aiokafka_reads_what_was_written(
    records: list[tuple[bytes | None, bytes | None]], time_ms: int, producer: int, sequence: int
) -> None:
    keys, values = (Blobs.of(column) for column in zip(*records, strict=True))
    batch = WrittenBatch(keys, values, time_ms)
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
        (offset, time_ms, key, value, []) for offset, (key, value) in enumerate(records)
    ]


@given(records=RECORDS, most=st.integers(1, 2_000))
def test_pieces_hold_every_record_once_and_are_no_longer_than_allowed(
    records: list[tuple[bytes | None, bytes | None]], most: int
) -> None:
    keys, values = (Blobs.of(column) for column in zip(*records, strict=True))
    cut = list(pieces(keys, values, most))
    assert [i for piece in cut for i in range(piece.start, piece.stop)] == list(range(len(records)))
    for piece in cut:
        size = len(written_records(keys[piece], values[piece]))
        assert size <= most or piece.stop == piece.start + 1
