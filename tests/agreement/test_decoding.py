"""Decoding by block gives what decoding each value on its own gives: for any rides, any damage, any neighbours."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from app.codecs.avro_decode import Refusal, decode_block, decode_strict
from app.rides.ride import RIDE_COLUMNS
from tests.support.histories import POISON, SCHEMAS, START_US, encode, random_ride


def damaged(rng: random.Random, value: bytes) -> bytes:
    """One or a few bytes behind the header changed, lost or added."""
    bytes_ = bytearray(value)
    at = rng.randrange(5, len(bytes_))
    match rng.randrange(5):
        case 0:
            bytes_[at] ^= 1 << rng.randrange(8)
        case 1:
            bytes_[at] = rng.randrange(256)
        case 2:
            del bytes_[at:]
        case 3:
            bytes_[at:at] = rng.randbytes(rng.randint(1, 12))
        case 4:
            del bytes_[at : at + rng.randint(1, 12)]
    return bytes(bytes_)


def random_value(rng: random.Random, number: int, damage: float) -> bytes | None:
    value = encode(random_ride(rng, number, START_US))
    if rng.random() >= damage:
        return value
    return rng.choice(POISON) if rng.random() < 0.1 else damaged(rng, value)


@given(seed=st.integers(0, 2**32), count=st.integers(0, 40), damage=st.sampled_from((0.0, 0.03, 0.2, 1.0)))
def test_a_block_is_decoded_as_its_values_are_one_by_one(seed: int, count: int, damage: float) -> None:
    """Else a record's fate would hang on its batch, and a recomputation could not repeat it."""
    rng = random.Random(seed)
    values = [random_value(rng, number, damage) for number in range(count)]
    found = decode_block(values, SCHEMAS, RIDE_COLUMNS)
    strict = [decode_strict(value, SCHEMAS) for value in values]
    assert found.refused == [(i, told.reason) for i, told in enumerate(strict) if isinstance(told, Refusal)]
    good = {i: told for i, told in enumerate(strict) if not isinstance(told, Refusal)}
    assert found.kept.tolist() == list(good)
    assert found.frame.to_dicts() == list(good.values())


@given(seed=st.integers(0, 2**32))
def test_one_damaged_value_between_two_good_ones_is_decoded_as_alone(seed: int) -> None:
    """Few neighbours, so that the block is often read to its end by mistake."""
    rng = random.Random(seed)
    for number in range(8):
        good = encode(random_ride(rng, number, START_US))
        value = damaged(rng, encode(random_ride(rng, number, START_US)))
        alone = decode_strict(value, SCHEMAS)
        found = decode_block([good, value, good], SCHEMAS, RIDE_COLUMNS)
        if isinstance(alone, Refusal):
            assert found.refused == [(1, alone.reason)]
        else:
            assert found.frame.row(1, named=True) == alone
