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
from app.codecs.batches.record_headers import MOST_HEADERS, RecordHeaders
from app.domain.records import TOO_MANY_HEADERS
from tests.support.material.raw_batches import in_five_bytes, number, of_deltas, record

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
    (headers,) = read_records([run_of([(0, payload, 1, 0)])], 0).headers
    assert headers == (("n\ufffdme", b"told"),)


def written(records: list[Record]) -> list[tuple[int, Record]]:
    return [(FIRST_OFFSET + at + (95 if at >= 5 else 0), record) for at, record in enumerate(records)]


def shown(read: Records) -> list[tuple[int, Record]]:
    rows = zip(read.timestamps_ms.tolist(), read.keys, read.values, map(list, read.headers), strict=True)
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


@pytest.mark.parametrize(
    ("deltas", "read_from", "taken"),
    [
        ((0, 1, 2), 0, {10: b"0", 11: b"1", 12: b"2"}),
        ((0, 0, 0), 0, {10: b"0"}),
        ((2, 1, 0), 0, {12: b"0"}),
        ((1, 1, 1), 0, {11: b"0"}),
        ((0, 2, 1), 0, {10: b"0", 12: b"1"}),
        ((-3, 0, 1), 0, {10: b"1", 11: b"2"}),
        ((2, 1, 0), 11, {12: b"0"}),
        ((0, 1, 0), 12, {}),
    ],
)
def test_a_record_that_stands_before_the_one_in_front_of_it_is_passed_over_as_kafkas_own_client_does(
    deltas: tuple[int, ...], read_from: int, taken: dict[int, bytes]
) -> None:
    """Brokers look at such offsets only in what is compressed."""
    found = read_records(
        [run_of([(10, of_deltas(*deltas), len(deltas), 0)]), run_of([(13, record(), 1, 0)])], read_from
    )
    assert dict(zip(found.offsets.tolist(), found.values, strict=True)) == {**taken, 13: b"v"}


def test_a_record_that_stands_behind_its_batch_is_refused() -> None:
    """Another record stands there, or will."""
    with pytest.raises(ValueError, match="record batch at offset 10 holds something else"):
        read_records([run_of([(10, of_deltas(0, 5), 2, 0)])], 0)


@pytest.mark.parametrize("more", [0, 0x10, 0x70])
def test_of_a_number_32_bits_count_as_in_java(more: int) -> None:
    held = b"\0\0" + in_five_bytes(0, more) + in_five_bytes(1, more) + b"k" + in_five_bytes(-1, more)
    held += in_five_bytes(1, more) + in_five_bytes(1, more) + b"h" + in_five_bytes(2, more) + b"ab"
    payload = in_five_bytes(len(held), more) + held
    assert shown(read_records([run_of([(7, payload, 1, 0)])], 0)) == [(7, (0, b"k", None, [("h", b"ab")]))]


def test_a_number_of_more_than_five_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="holds something else"):
        read_records([run_of([(7, record(value=b"\x82\x80\x80\x80\x80\x00v"), 1, 0)])], 0)


@pytest.mark.parametrize("length", [-1, -2, -7, -(2**31)])
def test_any_length_below_zero_is_a_null(length: int) -> None:
    null = number(length)
    payload = record(key=null, value=null, headers=number(1) + number(1) + b"h" + null)
    assert shown(read_records([run_of([(7, payload, 1, 0)])], 0)) == [(7, (0, None, None, [("h", b"")]))]


def test_a_headers_name_is_no_null() -> None:
    with pytest.raises(ValueError, match="holds something else"):
        read_records([run_of([(7, record(headers=number(1) + number(-1) + number(0)), 1, 0)])], 0)


@given(RECORDS, st.data())
def test_headers_are_those_of_records_that_were_cut_or_joined(records: list[Record], data: st.DataObject) -> None:
    whole = read(records)
    told = [*whole.headers]
    cut = data.draw(st.integers(0, len(told)))
    assert [*whole.headers[cut:]] == told[cut:]
    assert [*RecordHeaders.joined([whole.headers[:cut], RecordHeaders.none(2), whole.headers])] == [
        *told[:cut],
        (),
        (),
        *told,
    ]
    assert RecordHeaders.joined([whole.headers, [(("h", b"v"),)]]) == [*told, (("h", b"v"),)]


@pytest.mark.parametrize("more", [0, 1])
def test_a_record_of_too_many_headers_is_refused_unread_and_its_neighbours_are_not(more: int) -> None:
    """Two bytes are one: a batch of two kilobytes may hold ten million."""
    count = MOST_HEADERS + more
    many = record(offset_delta=number(1), headers=number(count) + (number(0) + number(-1)) * count)
    payload = record() + many + record(offset_delta=number(2))
    found = read_records([run_of([(7, payload, 3, 0)])], 0)
    assert found.unread == ({8: TOO_MANY_HEADERS} if more else {})
    assert [*found.values] == [b"v", None if more else b"v", b"v"]
    assert [*found.keys] == [b"k"] * 3
    assert [*found.headers] == [(), () if more else (("", b""),) * count, ()]


def test_no_runs_hold_no_records() -> None:
    assert shown(read_records([], 0)) == []
