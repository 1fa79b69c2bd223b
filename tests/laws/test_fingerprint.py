"""Laws of the fingerprint: equal sums mean equal records, and one missing record is named (rule 12)."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.fingerprint import (
    MAX_OFFSET,
    MAX_PARTITION,
    Origin,
    as_hex,
    mix,
    mix_unsigned,
    pack,
    signed,
    unmix,
    unpack,
)
from app.engine.core.records import fingerprint as by_array

BITS = st.integers(0, 2**64 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
ORIGINS = st.builds(Origin, st.integers(1, 127), st.integers(0, MAX_PARTITION), st.integers(0, MAX_OFFSET))
KNOWN_TOPICS = range(1, 5)
PARTITIONS = range(64)
LIKELY_OFFSETS = 10**9


def total(origins: list[Origin]) -> int:
    return signed(sum(mix(pack(origin)) for origin in origins))


def is_plausible(origin: Origin) -> bool:
    """An origin that somebody would believe: a topic and partition there is, an offset that may have been reached."""
    return origin.topic_number in KNOWN_TOPICS and origin.partition in PARTITIONS and origin.offset < LIKELY_OFFSETS


@given(BITS)
def test_unmix_undoes_mix_for_every_pattern_of_64_bits(bits: int) -> None:
    assert unmix(mix(bits)) == bits


@given(st.lists(ORIGINS))
def test_many_are_mixed_as_each_is(origins: list[Origin]) -> None:
    packed = [pack(origin) for origin in origins]
    assert [signed(mixed) for mixed in mix_unsigned(packed)] == [mix(one) for one in packed]


@given(INT64)
def test_mix_undoes_unmix_so_every_fingerprint_belongs_to_some_origin(mixed: int) -> None:
    """With the law above: a bijection, so two different records never share a mix."""
    assert mix(unmix(mixed)) == mixed


@given(ORIGINS)
def test_an_origin_is_unpacked_as_it_was_packed(origin: Origin) -> None:
    packed = pack(origin)
    assert 0 < packed < 2**63
    assert unpack(packed) == origin


@pytest.mark.parametrize(
    "origin",
    [
        Origin(0, 0, 0),
        Origin(128, 0, 0),
        Origin(1, -1, 0),
        Origin(1, MAX_PARTITION + 1, 0),
        Origin(1, 0, -1),
        Origin(1, 0, MAX_OFFSET + 1),
    ],
)
def test_an_origin_that_would_share_its_bits_with_another_is_refused(origin: Origin) -> None:
    with pytest.raises(ValueError, match="origin out of range"):
        pack(origin)


@given(st.lists(st.integers(0, 2**63 - 1), max_size=50))
def test_numpy_mixes_to_the_same_bits_as_python(packed: list[int]) -> None:
    mixed = by_array.mix_all(np.array(packed, np.int64))
    assert mixed.dtype == np.int64
    assert mixed.tolist() == [mix(p) for p in packed]


@given(st.integers(1, 127), st.integers(0, MAX_PARTITION), st.lists(st.integers(0, MAX_OFFSET), max_size=20))
def test_numpy_packs_to_the_same_bits_as_python(number: int, partition: int, offsets: list[int]) -> None:
    packed = by_array.origins(number, partition, np.array(offsets, np.int64))
    assert packed.tolist() == [pack(Origin(number, partition, offset)) for offset in offsets]


@given(st.lists(INT64, max_size=50))
def test_python_wraps_around_where_numpy_does(numbers: list[int]) -> None:
    assert signed(sum(numbers)) == int(np.array(numbers, np.int64).sum())


@given(st.lists(ORIGINS, unique=True, min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_fingerprint_of_a_set_does_not_know_its_order(origins: list[Origin], rng: random.Random) -> None:
    shuffled = origins.copy()
    rng.shuffle(shuffled)
    assert total(shuffled) == total(origins)


@given(st.lists(ORIGINS, unique=True, min_size=1, max_size=30), st.data())
def test_the_difference_of_two_sets_unmixed_is_the_one_missing_record(
    origins: list[Origin], data: st.DataObject
) -> None:
    missing = data.draw(st.sampled_from(origins))
    rest = [origin for origin in origins if origin != missing]
    assert unpack(unmix(signed(total(origins) - total(rest)))) == missing
    assert unpack(unmix(signed(total([*origins, missing]) - total(origins)))) == missing


def test_two_lost_and_one_doubled_record_do_not_look_like_one_lost_record() -> None:
    """The count is off by one, so the difference is un-mixed; with a linear mix, near offsets give near culprits."""
    rng = random.Random(11)
    believed = 0
    for _ in range(5_000):
        number, partition, first = rng.choice(KNOWN_TOPICS), rng.choice(PARTITIONS), rng.randrange(10**6)
        lost, also_lost, doubled = (Origin(number, partition, first + step) for step in rng.sample(range(1000), 3))
        difference = mix(pack(lost)) + mix(pack(also_lost)) - mix(pack(doubled))
        believed += is_plausible(unpack(unmix(signed(difference))))
    assert believed == 0


def test_mixed_origins_never_change_because_stored_rows_hold_sums_of_them() -> None:
    golden = {
        Origin(1, 0, 0): "7d851adacc86a473",
        Origin(1, 0, 1): "2f353db03184f81b",
        Origin(4, 4095, 2**44 - 1): "4eadf9eb2b55863d",
    }
    assert {origin: as_hex(mix(pack(origin))) for origin in golden} == golden
