"""The fingerprint of `app.domain.fingerprint` in plain Spark SQL, bit for bit, with ANSI on.

Sums of 64-bit values would overflow, so a fingerprint is summed as two 32-bit halves and put together at the end.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.fingerprint import FOLD_SHIFT, LOW_32, OFFSET_BITS, PARTITION_BITS, ROUNDS


def packed_origin() -> Column:
    """The origin as one integer, from topic_number, partition and offset."""
    number, partition = F.col("topic_number").cast("bigint"), F.col("partition").cast("bigint")
    return (
        F.shiftleft(number, PARTITION_BITS + OFFSET_BITS)
        .bitwiseOR(F.shiftleft(partition, OFFSET_BITS))
        .bitwiseOR(F.col("offset"))
    )


def mixed_halves(packed: Column) -> tuple[Column, Column]:
    """Upper and lower 32 bits of the mixed origin."""
    left, right = F.shiftrightunsigned(packed, 32), packed.bitwiseAND(F.lit(LOW_32))
    for xor, multiplier in ROUNDS:
        product = right.bitwiseXOR(F.lit(xor)) * F.lit(multiplier)
        scrambled = product.bitwiseXOR(F.shiftright(product, FOLD_SHIFT)).bitwiseAND(F.lit(LOW_32))
        left, right = right, left.bitwiseXOR(scrambled)
    return left, right


def fingerprint(upper: Column, lower: Column) -> Column:
    """The aggregate: wrap-around 64-bit sum of mixed origins, given their halves. Safe up to 2**31 records a row."""
    high, low = F.sum(upper), F.sum(lower)
    carried = high + F.shiftrightunsigned(low, 32)
    return F.shiftleft(carried, 32).bitwiseOR(low.bitwiseAND(F.lit(LOW_32)))
