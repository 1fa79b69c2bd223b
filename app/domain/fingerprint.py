"""An order-independent fingerprint of a set of records, that can be inverted when one is missing.

A record's *origin* packs its topic number (8 bits, top bit free), partition (12) and offset (44) into
a signed 64-bit integer. The fingerprint of a set is the wrap-around 64-bit sum of `mix(origin)`.
`mix` is a bijection (three Feistel rounds on 32-bit halves), so if two sets differ by one record the
difference of their fingerprints, un-mixed, *is* that record's origin. It is not linear: with a linear
mix two lost and one doubled record often look like one plausible lost record.

Every product stays below 2**63, so Python, numpy, Polars and Spark SQL (ANSI on) give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

PARTITION_BITS = 12
OFFSET_BITS = 44
MAX_PARTITION = (1 << PARTITION_BITS) - 1
MAX_OFFSET = (1 << OFFSET_BITS) - 1

BLOCK_SIZE = 1 << 16
"""Offsets of a topic-partition of which a task keeps count and fingerprint together (rule 12)."""

LOW_32 = 0xFFFF_FFFF
BITS_64 = (1 << 64) - 1
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
ROUNDS: tuple[tuple[int, int], ...] = (
    (0x9E3779B9, 0x7F4A7C15),
    (0x85EBCA6B, 0x62B82175),
    (0xC2B2AE35, 0x5851F42D),
)
"""(xor, multiplier) of each round; multipliers are odd and below 2**31. Never change: rows hold sums of them."""
FOLD_SHIFT = 31


class Origin(NamedTuple):
    """Where a record stands: topic number, partition, offset."""

    topic_number: int
    partition: int
    offset: int


def pack(origin: Origin) -> int:
    """The origin as one integer, 0 to 2**63 - 1; ValueError if a part is out of range."""
    number, partition, offset = origin
    if not (0 < number < 128 and 0 <= partition <= MAX_PARTITION and 0 <= offset <= MAX_OFFSET):
        raise ValueError(f"origin out of range: {origin}")
    return (number << (PARTITION_BITS + OFFSET_BITS)) | (partition << OFFSET_BITS) | offset


def unpack(packed: int) -> Origin:
    """Inverse of `pack`; any 64-bit pattern gives some origin, which the caller must check."""
    bits = packed & BITS_64
    return Origin(bits >> (PARTITION_BITS + OFFSET_BITS), (bits >> OFFSET_BITS) & MAX_PARTITION, bits & MAX_OFFSET)


def _round(half: int, xor: int, multiplier: int) -> int:
    product = (half ^ xor) * multiplier
    return (product ^ (product >> FOLD_SHIFT)) & LOW_32


def mix(packed: int) -> int:
    """The mixed origin, signed 64-bit."""
    left, right = (packed >> 32) & LOW_32, packed & LOW_32
    for xor, multiplier in ROUNDS:
        left, right = right, left ^ _round(right, xor, multiplier)
    return signed((left << 32) | right)


def mix_unsigned(packed: Iterable[int]) -> Iterator[int]:
    """What `mix` gives for each, as unsigned 64-bit patterns."""
    (xor_1, by_1), (xor_2, by_2), (xor_3, by_3) = ROUNDS
    for one in packed:
        left, right = one >> 32, one & LOW_32
        product = (right ^ xor_1) * by_1
        left ^= (product ^ (product >> FOLD_SHIFT)) & LOW_32
        product = (left ^ xor_2) * by_2
        right ^= (product ^ (product >> FOLD_SHIFT)) & LOW_32
        product = (right ^ xor_3) * by_3
        yield (right << 32) | (left ^ (product ^ (product >> FOLD_SHIFT)) & LOW_32)


def unmix(mixed: int) -> int:
    """Inverse of `mix`: the packed origin, as an unsigned 64-bit pattern."""
    left, right = (mixed >> 32) & LOW_32, mixed & LOW_32
    for xor, multiplier in reversed(ROUNDS):
        left, right = right ^ _round(left, xor, multiplier), left
    return (left << 32) | right


def signed(value: int) -> int:
    """`value` wrapped into a signed 64-bit integer, as numpy and the JVM do on overflow."""
    return ((value + (1 << 63)) & BITS_64) - (1 << 63)


def as_hex(fingerprint: int) -> str:
    """How a fingerprint is shown: 16 hex digits."""
    return f"{fingerprint & BITS_64:016x}"
