"""Record batches read by column are what aiokafka's builder was given; damaged ones are refused, never read past."""

from __future__ import annotations

import numpy as np
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.batches.record_batches import (
    BATCH,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    Records,
    Uncompressed,
    batches_in,
    read_records,
)

Record = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]

BYTES = st.one_of(st.none(), st.binary(max_size=200))
HEADERS = st.lists(st.tuples(st.text(max_size=3), BYTES), max_size=3)
RECORDS = st.lists(st.tuples(st.integers(0, 2**45), BYTES, BYTES, HEADERS), min_size=1, max_size=12)
FIRST_OFFSET = 2**40


def batch_of(records: list[Record], base_offset: int) -> bytes:
    """As a broker hands it out."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    for at, (timestamp, key, value, headers) in enumerate(records):
        builder.append(at, timestamp, key, value, headers)
    return base_offset.to_bytes(8, "big") + bytes(builder.build())[8:]


def payload_of(records: list[Record]) -> bytes:
    return batch_of(records, 0)[HEADER_BYTES:]


def run_of(parts: list[tuple[int, bytes, int, int]], append_timestamp_ms: int = -1) -> Uncompressed:
    """One run of batches: first offset, payload, record count and first time of each."""
    batches = np.zeros(len(parts), BATCH)
    for batch, (base, _, count, first_ms) in zip(batches, parts, strict=True):
        batch["base_offset"], batch["record_count"], batch["last_offset_delta"] = base, count, count - 1
        batch["first_timestamp_ms"], batch["last_timestamp_ms"] = first_ms, append_timestamp_ms
        batch["attributes"] = 0 if append_timestamp_ms < 0 else LOG_APPEND_TIME
    return Uncompressed(b"".join(part[1] for part in parts), batches)


def read(
    records: list[Record], from_offset: int = 0, append_timestamp_ms: int = -1, *, together: bool = True
) -> Records:
    """In two batches, the second behind a gap in the offsets, of one run or of two."""
    parts = [
        (FIRST_OFFSET + base, payload_of(part), len(part), part[0][0])
        for base, part in [(0, records[:5]), (100, records[5:])]
        if part
    ]
    runs = [parts] if together else [[part] for part in parts]
    return read_records([run_of(run, append_timestamp_ms) for run in runs], from_offset)


def test_a_headers_name_that_is_no_utf_8_stops_nobody() -> None:
    """Brokers take any bytes for it."""
    payload = payload_of([(0, None, b"v", [("name", b"told")])]).replace(b"name", b"n\xffme")
    (headers,) = read_records([run_of([(0, payload, 1, 0)])], 0).headers()
    assert headers == (("n\ufffdme", b"told"),)


def written(records: list[Record]) -> list[tuple[int, Record]]:
    return [(FIRST_OFFSET + at + (95 if at >= 5 else 0), record) for at, record in enumerate(records)]


def shown(read: Records) -> list[tuple[int, Record]]:
    rows = zip(read.timestamps_ms.tolist(), read.keys, read.values, map(list, read.headers()), strict=True)
    return list(zip(read.offsets.tolist(), rows, strict=True))


@given(RECORDS, st.integers(0, 110), st.booleans())
def test_records_from_an_offset_on_are_those_that_were_written(
    records: list[Record], skipped: int, together: bool
) -> None:
    """A header's null value reads as empty: what is sent on cannot tell them apart either."""
    wanted = [
        (offset, (timestamp, key, value, [(name, held or b"") for name, held in headers]))
        for offset, (timestamp, key, value, headers) in written(records)
        if offset >= FIRST_OFFSET + skipped
    ]
    assert shown(read(records, FIRST_OFFSET + skipped, together=together)) == wanted


@given(RECORDS)
def test_where_the_broker_gives_the_time_all_records_have_it(records: list[Record]) -> None:
    assert set(read(records, append_timestamp_ms=77).timestamps_ms.tolist()) == {77}


@given(RECORDS, st.data())
def test_a_run_that_ends_too_soon_or_too_late_is_refused_wherever_it_is_cut(
    records: list[Record], data: st.DataObject
) -> None:
    payload = payload_of(records)
    cut = data.draw(st.integers(0, len(payload) - 1))
    for damaged in (payload[:cut], payload + b"\x00"):
        with pytest.raises(ValueError, match="record batch at offset 7 holds something else"):
            read_records([run_of([(7, damaged, len(records), 0)])], 0)


@given(st.lists(RECORDS, min_size=2, max_size=4), st.data())
def test_a_batch_of_a_run_that_tells_of_fewer_records_than_it_has_is_refused(
    batches: list[list[Record]], data: st.DataObject
) -> None:
    """What it holds too much would be the next one's first record, or the run would not end with its last."""
    liar = data.draw(st.integers(0, len(batches) - 1))
    parts = [(100 * at, payload_of(batch), len(batch) - (at == liar), batch[0][0]) for at, batch in enumerate(batches)]
    with pytest.raises(ValueError, match="holds something else than records"):
        read_records([run_of(parts)], 0)


@given(st.lists(RECORDS, max_size=4), st.data())
def test_whole_batches_are_found_wherever_a_fetch_is_cut_off(batches: list[list[Record]], data: st.DataObject) -> None:
    written = [batch_of(records, 100 * at) for at, records in enumerate(batches)]
    fetched = b"".join(written)
    cut = data.draw(st.integers(0, len(fetched)))
    ends = np.cumsum([0, *map(len, written)])
    starts, found = batches_in(fetched[:cut])
    assert starts.tolist() == ends[:-1][ends[1:] <= cut].tolist()
    assert found["base_offset"].tolist() == [100 * at for at in range(len(starts))]
    assert found["record_count"].tolist() == [len(records) for records in batches[: len(starts)]]


@pytest.mark.parametrize(("at", "byte", "words"), [(16, 1, "message format 1"), (11, 3, "shorter than its header")])
def test_what_is_no_batch_of_format_2_is_refused(at: int, byte: int, words: str) -> None:
    fetched = bytearray(batch_of([(0, b"k", b"v", [])], 0) * 2)
    fetched[len(fetched) // 2 + at] = byte
    with pytest.raises(ValueError, match=words):
        batches_in(bytes(fetched))


@given(RECORDS, st.data())
def test_a_changed_byte_never_makes_it_read_past_the_buffer(records: list[Record], data: st.DataObject) -> None:
    payload = bytearray(payload_of(records))
    whole = read_records([run_of([(7, bytes(payload), len(records), 0)])], 0)
    at = data.draw(st.integers(0, len(payload) - 1))
    payload[at] = data.draw(st.integers(0, 255))
    try:
        found = read_records([run_of([(7, bytes(payload), len(records), 0)])], 0)
    except ValueError:
        for blobs in (whole.keys, whole.values):  # of these any byte will do
            assert not ((blobs.starts <= at) & (at < blobs.starts + blobs.lengths)).any()
        return
    for blobs in (found.keys, found.values):
        assert (blobs.starts + blobs.lengths.clip(0) <= len(payload)).all()
        assert ((blobs.lengths >= -1) & (blobs.starts >= 0)).all()


def test_no_runs_hold_no_records() -> None:
    assert shown(read_records([], 0)) == []
