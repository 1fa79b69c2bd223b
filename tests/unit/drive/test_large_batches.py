"""Record batches that become large when they are uncompressed, or are not what they say: read in bounded steps, or
refused unread."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import cramjam
import numpy as np
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.batches import inflating
from app.codecs.batches.inflating import GZIP, LZ4, SNAPPY, ZSTD, inflated, most_bytes
from app.domain.event_time import NO_WATERMARK
from app.domain.records import TOO_LARGE, UNREADABLE_BATCH, is_of_its_time
from app.engine.core.batch import Batch
from app.engine.core.records.usable import usable_records
from app.engine.drive.kafka import kept_batches
from app.engine.drive.kafka.kept_batches import KeptBatches
from app.rides.ride import RIDES
from tests.support.material.histories import SCHEMAS, START_US, TOPIC_NAMES, encode, random_ride
from tests.support.material.raw_batches import AT_MS as RAW_AT_MS
from tests.support.material.raw_batches import BROKEN, GOOD, ODD, RawBatch, number, record

pytestmark = pytest.mark.unit

LIMIT, AT_MS = 1 << 20, START_US // 1000
WAYS = {GZIP: cramjam.gzip.compress, LZ4: cramjam.lz4.compress, ZSTD: cramjam.zstd.compress}


def batch_of(base_offset: int, values: list[bytes], way: int) -> bytes:
    """As a broker hands it out."""
    builder = DefaultRecordBatchBuilder(2, way, False, -1, -1, -1, 1 << 30)
    for at, value in enumerate(values):
        builder.append(at, AT_MS, b"key", value, [])
    return base_offset.to_bytes(8, "big") + bytes(builder.build())[8:]


def steps(fetched: bytes, from_offset: int = 0) -> list[Batch]:
    """What is given out of it, step by step."""
    kept, given_out = KeptBatches(fetched), []
    reader: Any = SimpleNamespace(_check_crcs=True, _isolation_level=0, next_fetch_offset=from_offset)
    while kept.has_more:
        base = reader.next_fetch_offset
        records = kept.next_records(reader, base)
        columns = (records.offsets, records.timestamps_ms, records.keys, records.values, records.headers)
        batch = Batch(TOPIC_NAMES[0], 0, base, reader.next_fetch_offset, *columns, unread=records.unread)
        given_out.append(batch)
    return given_out


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> int:
    for module in (inflating, kept_batches):
        monkeypatch.setattr(module, "MAX_BYTES", LIMIT)
    return LIMIT


PIECES = st.lists(st.binary(max_size=300) | st.integers(0, 1 << 19).map(bytes), max_size=4).map(b"".join)


@given(PIECES, PIECES, st.sampled_from([GZIP, SNAPPY, LZ4, ZSTD]), st.integers(1, 19))
def test_nothing_becomes_larger_than_it_was_said_to(one: bytes, other: bytes, way: int, level: int) -> None:
    def compressed(data: bytes) -> bytes:
        match way:
            case 1:
                return bytes(cramjam.gzip.compress(data, min(level, 9)))
            case 2:
                return bytes(cramjam.snappy.compress_raw(data))
            case 3:
                return bytes(cramjam.lz4.compress(data, min(level, 12)))
        return bytes(cramjam.zstd.compress(data, level))

    first, second = compressed(one), compressed(other)
    starts, ends = np.array([0, len(first)]), np.array([len(first), len(first + second)])
    most = most_bytes(np.frombuffer(first + second, np.uint8), starts, ends, np.array([way, way]))
    assert (most >= [len(one), len(other)]).all()


def test_frames_one_behind_the_other_count_together_and_what_ends_within_one_is_too_large() -> None:
    frame = bytes(cramjam.zstd.compress(bytes(1 << 20)))
    skipped = (0x184D2A51).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"abc"
    for data, least in ((frame * 3 + skipped + frame, 4 << 20), (b"", 0), (skipped, 0)):
        held = np.frombuffer(data, np.uint8)
        (most,) = most_bytes(held, np.array([0]), np.array([len(held)]), np.array([ZSTD]))
        assert least <= most <= 2 * least
    for data in (b"no frame at all", frame[:9], frame + frame[:-1], skipped[:-1]):
        (most,) = most_bytes(np.frombuffer(data, np.uint8), np.array([0]), np.array([len(data)]), np.array([ZSTD]))
        assert most > inflating.MAX_BYTES


def test_a_string_of_zstd_that_ends_within_a_frame_does_not_go_on_in_the_batch_behind_it() -> None:
    """A block that is told of at the end of one would be what stands in the next."""
    good = bytes(cramjam.zstd.compress(record(), 1))
    begun = good + b"\x28\xb5\x2f\xfd\x00\x58" + (len(good) << 3 | 1).to_bytes(3, "little")
    whole = Batch.joined(steps(RawBatch(ZSTD, begun).at(0) + RawBatch(ZSTD, good).at(1)))
    assert (whole.unread, [*whole.values]) == ({}, [b"v", b"v"])


def test_a_bomb_ends_where_the_bound_is(limit: int) -> None:
    """64 frames of 64 MiB each in 130 kB."""
    bomb = bytes(cramjam.zstd.compress(bytes(64 << 20))) * 64
    assert inflated(bomb) is None
    assert inflated(bytes(cramjam.zstd.compress(bytes(limit)))) == bytes(limit)
    with pytest.raises(cramjam.DecompressionError):
        inflated(b"no frame")


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize("way", WAYS)
def test_records_of_a_batch_that_is_too_large_are_refused_and_their_neighbours_are_not(way: int) -> None:
    rides = [encode({**random_ride(random.Random(n), n, START_US), "vendor": "1"}) for n in range(2)]
    fetched = batch_of(0, rides[:1], way) + batch_of(1, [bytes(LIMIT), b"1"], way) + batch_of(3, rides[1:], way)
    given_out = steps(fetched)
    assert [(one.base_offset, one.next_offset, list(one.unread)) for one in given_out] == [
        (0, 1, []),
        (1, 3, [1, 2]),
        (3, 4, []),
    ]
    whole = Batch.joined(given_out)
    assert [*whole.values] == [rides[0], None, None, rides[1]]
    assert whole.timestamps_ms.tolist() == [AT_MS] * 4
    _, refused = usable_records(RIDES, whole, NO_WATERMARK, SCHEMAS)
    assert [(at, reason) for at, reason in refused if at in (1, 2)] == [(1, TOO_LARGE), (2, TOO_LARGE)]
    _, refused = usable_records(RIDES, whole.since(2), NO_WATERMARK, SCHEMAS)
    assert (0, TOO_LARGE) in refused
    assert is_of_its_time(TOO_LARGE)  # Spark takes it as it was recorded


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize("way", WAYS)
def test_a_batch_that_might_be_too_large_and_is_not_is_read(way: int) -> None:
    value = bytes(LIMIT - 1_000)
    (batch,) = steps(batch_of(0, [value], way))
    assert ([*batch.values], list(batch.unread)) == ([value], [])


@pytest.mark.usefixtures("limit")
def test_batches_that_are_large_together_are_read_one_after_the_other() -> None:
    values = [bytes([n]) * 400_000 for n in range(5)]
    given_out = steps(b"".join(batch_of(at, [value], ZSTD) for at, value in enumerate(values)))
    assert [len(one) for one in given_out] == [2, 2, 1]
    assert [value for one in given_out for value in one.values] == values


@pytest.mark.usefixtures("limit")
def test_where_the_records_of_a_large_batch_stand_must_be_known() -> None:
    fetched = bytearray(batch_of(0, [bytes(LIMIT), b"1"], ZSTD))
    fetched[57:61] = (1).to_bytes(4, "big")  # one of them was compacted away
    reader: Any = SimpleNamespace(_check_crcs=False, _isolation_level=0, next_fetch_offset=0)
    with pytest.raises(ValueError, match="the record batch at offset 0 is undecodable:BatchTooLarge"):
        KeptBatches(bytes(fetched)).next_records(reader, 0)


@pytest.mark.parametrize("name", [*ODD, *BROKEN])
def test_what_java_reads_is_read_and_the_rest_is_refused_without_its_neighbours(name: str) -> None:
    """In one fetch with good batches on both sides."""
    batch = {**ODD, **BROKEN}[name]
    good, last = GOOD[batch.way], 1 + batch.count
    given_out = steps(good.at(0) + batch.at(1) + good.at(last))
    whole = Batch.joined(given_out)
    reads = dict.fromkeys(range(batch.count)) if batch.reads is None else batch.reads
    found = dict(zip(whole.offsets.tolist(), whole.values, strict=True))
    assert found == {0: b"v", **{1 + delta: value for delta, value in reads.items()}, last: b"v"}
    assert whole.unread == ({} if batch.reads else dict.fromkeys(range(1, last), UNREADABLE_BATCH))
    assert (whole.base_offset, whole.next_offset) == (0, last + 1)
    assert {*whole.timestamps_ms.tolist()} == {RAW_AT_MS}


@pytest.mark.parametrize(("records", "ends"), [(1_000, [1_007]), (1_001, [407, 807, 1_008])])
def test_a_batch_of_too_many_records_is_refused_in_steps(
    monkeypatch: pytest.MonkeyPatch, records: int, ends: list[int]
) -> None:
    monkeypatch.setattr(kept_batches, "STEP_RECORDS", 400)
    monkeypatch.setattr(kept_batches, "MOST_RECORDS", 1_000)
    payload = b"".join(map(record, map(number, range(records))))
    batch = RawBatch(ZSTD, bytes(cramjam.zstd.compress(payload)), records)
    given_out = steps(batch.at(7) + GOOD[ZSTD].at(7 + records))
    assert [one.next_offset for one in given_out] == [*ends, ends[-1] + 1]
    whole = Batch.joined(given_out)
    assert whole.offsets.tolist() == [*range(7, 8 + records)]
    assert whole.unread == (dict.fromkeys(range(7, 7 + records), TOO_LARGE) if len(ends) > 1 else {})


def test_a_batch_that_is_refused_is_gone_on_with_where_its_records_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_batches, "STEP_RECORDS", 2)
    fetched = RawBatch(GZIP, b"no gzip", 5).at(10) + GOOD[GZIP].at(15)
    given_out = steps(fetched, 11)
    assert [one.offsets.tolist() for one in given_out] == [[11, 12], [13, 14], [15]]
    assert [one.base_offset for one in given_out] == [11, 13, 15]
