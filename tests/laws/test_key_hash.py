"""A key's partition is the one that other Kafka clients choose for it."""

from __future__ import annotations

import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.batches.key_hash import key_hash, partition_of, partitions_of
from app.codecs.blobs import Blobs

pytestmark = pytest.mark.laws


@given(key=st.binary(max_size=300), partitions=st.integers(1, 200))
def test_a_partition_is_that_of_aiokafka(key: bytes, partitions: int) -> None:
    everywhere = range(partitions)
    assert partition_of(key, partitions) == DefaultPartitioner()(key, everywhere, everywhere)


@given(keys=st.lists(st.binary(max_size=30)), partitions=st.integers(1, 200))
def test_partitions_of_many_keys_are_those_of_each(keys: list[bytes], partitions: int) -> None:
    several = Blobs.of([b"before", *keys, b"behind"])[1:-1]
    assert partitions_of(several, partitions).tolist() == [partition_of(key, partitions) for key in keys]


@pytest.mark.parametrize(
    ("key", "of_java"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_a_hash_is_that_of_kafkas_own_tests(key: bytes, of_java: int) -> None:
    """Values of Kafka's UtilsTest.testMurmur2, signed there."""
    assert key_hash(key) == of_java & 0x7FFF_FFFF
