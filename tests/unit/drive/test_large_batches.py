"""Record batches that become large when they are uncompressed: read in bounded steps, or refused unread."""

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
from app.codecs.batches.record_batches import read_records
from app.domain.event_time import NO_WATERMARK
from app.domain.records import TOO_LARGE, is_of_its_time
from app.engine.core.batch import Batch
from app.engine.core.records.usable import usable_records
from app.engine.drive.kafka import kept_batches
from app.engine.drive.kafka.kept_batches import KeptBatches
from app.rides.ride import RIDES
from tests.support.material.histories import SCHEMAS, START_US, TOPIC_NAMES, encode, random_ride

pytestmark = pytest.mark.unit

LIMIT, AT_MS = 1 << 20, START_US // 1000
WAYS = {GZIP: cramjam.gzip.compress, LZ4: cramjam.lz4.compress, ZSTD: cramjam.zstd.compress}


def batch_of(base_offset: int, values: list[bytes], way: int) -> bytes:
    """As a broker hands it out."""
    builder = DefaultRecordBatchBuilder(2, way, False, -1, -1, -1, 1 << 30)
    for at, value in enumerate(values):
        builder.append(at, AT_MS, b"key", value, [])
    return base_offset.to_bytes(8, "big") + bytes(builder.build())[8:]


def steps(fetched: bytes) -> list[Batch]:
    """What is given out of it, step by step."""
    kept, given_out = KeptBatches(fetched), []
    reader: Any = SimpleNamespace(_check_crcs=True, _isolation_level=0, next_fetch_offset=0)
    while kept.has_more:
        base = reader.next_fetch_offset
        records = read_records(kept.next_runs(reader), base)
        columns = (records.offsets, records.timestamps_ms, records.keys, records.values, records.headers)
        batch = Batch(
            TOPIC_NAMES[0], 0, base, reader.next_fetch_offset, *columns, unread=dict.fromkeys(kept.unread, TOO_LARGE)
        )
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


def test_frames_one_behind_the_other_count_together_and_what_is_none_counts_nothing() -> None:
    frame = bytes(cramjam.zstd.compress(bytes(1 << 20)))
    skipped = (0x184D2A51).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"abc"
    for data, least in ((frame * 3 + skipped + frame, 4 << 20), (b"no frame at all", 0), (b"", 0), (frame[:9], 0)):
        held = np.frombuffer(data, np.uint8)
        (most,) = most_bytes(held, np.array([0]), np.array([len(held)]), np.array([ZSTD]))
        assert least <= most <= 2 * least


def test_a_bomb_ends_where_the_bound_is(limit: int) -> None:
    """64 frames of 64 MiB each in 130 kB."""
    bomb = bytes(cramjam.zstd.compress(bytes(64 << 20))) * 64
    assert inflated(bomb, ZSTD) is None
    assert inflated(bytes(cramjam.zstd.compress(bytes(limit))), ZSTD) == bytes(limit)
    with pytest.raises(cramjam.DecompressionError):
        inflated(b"no frame", ZSTD)


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
    with pytest.raises(ValueError, match="the record batch at offset 0 is of more than 1048576 bytes"):
        KeptBatches(bytes(fetched)).next_runs(reader)
