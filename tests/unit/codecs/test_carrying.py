"""Records on their way to topics of ours: whole where they surely fit, else their beginning and what they were."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from aiokafka.producer.message_accumulator import BatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from app.codecs.batches.carrying import (
    BATCH_LIMIT_BYTES,
    KEPT_BYTES,
    WAITING_BYTES,
    WHOLE_BYTES,
    Carried,
    Original,
    carried,
    original_of,
    size,
)
from app.codecs.batches.origin_headers import SHORTENED
from app.codecs.batches.record_headers import Headers
from app.codecs.blobs import Blobs
from app.codecs.stored.halves import Halves, headers_as_json, waiting_values
from app.engine.drive.transactions.writer import BATCH_BYTES

OURS: Headers = (("flagfall-topic", b"rides.yellow"), ("flagfall-reason", b"bad_magic"))
LARGE = bytes(4_000_000)
SIZES = st.one_of(st.none(), st.integers(0, 3 * KEPT_BYTES), st.integers(WHOLE_BYTES - 700, WHOLE_BYTES + 700))
HEADERS = st.lists(st.tuples(st.sampled_from(["", "h", "\x01" * 40, "\U0001f695" * 30, SHORTENED]), SIZES), max_size=6)


def blob(length: int | None) -> bytes | None:
    return None if length is None else b"\xff" * length


def written_bytes(record: Carried) -> int:
    """What a batch of this record alone takes, where it cannot be compressed."""
    batch = BatchBuilder(BATCH_BYTES, 0, is_transactional=1)
    batch.append(timestamp=1, key=record.key, value=record.value, headers=list(record.headers))
    return len(batch._build())


@settings(max_examples=60)
@given(SIZES, SIZES, HEADERS)
def test_what_is_carried_always_fits(key: int | None, value: int | None, headers: list[tuple[str, int | None]]) -> None:
    came_with = tuple((name, blob(length) or b"") for name, length in headers)
    record = carried(blob(key), blob(value), came_with, OURS)
    assert written_bytes(record) <= BATCH_LIMIT_BYTES
    assert written_bytes(carried(blob(key), blob(value), came_with, OURS, beginning=False)) <= BATCH_LIMIT_BYTES
    told = original_of(record.headers)
    assert (told is None) == (size(blob(key), blob(value), (*came_with, *OURS)) <= WHOLE_BYTES)
    if told is None:
        assert record == (blob(key), blob(value), (*came_with, *OURS))
    waiting = carried(blob(key), blob(value), came_with, whole_bytes=WAITING_BYTES)
    one, headers = np.full(1, 2**60), headers_as_json(waiting.headers)
    parts = [Blobs.of([part]) for part in (b"{}", waiting.key, waiting.value, headers)]
    (half,) = waiting_values(Halves(one > 0, one, Blobs.of([b'"id"']), one, *parts))
    assert len(half or b"") < BATCH_BYTES


@pytest.mark.parametrize("more", [0, 1])
def test_a_record_is_shortened_from_the_first_byte_on_that_may_not_fit(more: int) -> None:
    came_with = tuple((f"h{n}", b"x") for n in range(5))
    value = bytes(WHOLE_BYTES - size(b"k", b"", (*came_with, *OURS)) + more)
    record = carried(b"k", value, came_with, OURS)
    assert (original_of(record.headers) is not None) == bool(more)
    assert record.headers[:7] == (*came_with, *OURS)


def test_of_a_large_record_its_beginning_is_kept_and_what_it_was_is_told() -> None:
    record = carried(b"k", LARGE, (("a", b"b"),), OURS)
    assert (record.key, record.value, record.headers[:-1]) == (b"k", bytes(KEPT_BYTES), (("a", b"b"), *OURS))
    original = original_of(record.headers)
    assert original == Original(len(LARGE), sha256(LARGE).hexdigest(), 1, 1)
    assert original.is_of(LARGE)
    assert not original.is_of(LARGE[1:])
    assert not original.is_of(None)


def test_where_readers_decode_the_value_none_is_kept() -> None:
    record = carried(b"k", LARGE, (), OURS, beginning=False)
    assert (record.key, record.value) == (b"k", None)
    assert original_of(record.headers) == Original(len(LARGE), sha256(LARGE).hexdigest(), 1, 0)


def test_large_keys_and_headers_are_shortened_too() -> None:
    many = tuple((f"h{n}", bytes(20_000)) for n in range(100))
    record = carried(LARGE, None, many, OURS)
    assert (len(record.key or b""), record.value, record.headers[:-3]) == (KEPT_BYTES, None, many[:3])
    assert original_of(record.headers) == Original(None, None, len(LARGE), 100)


def test_a_record_that_says_itself_that_it_was_shortened_was_not() -> None:
    record = carried(b"k", b"v", ((SHORTENED, b"{}"),), OURS)
    assert original_of(record.headers) is None
    assert record.value == b"v"
