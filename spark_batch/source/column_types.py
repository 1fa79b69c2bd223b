"""How Spark holds a source's columns, and what of a value their bounds hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.column import Column, Kind


class SparkType(NamedTuple):
    """A kind's type in SQL, and the size of a value as an expression."""

    sql: str
    size: Callable[[Expression], Expression]


def _itself(value: Expression) -> Expression:
    return value


_NUMBER = SparkType("bigint", _itself)

SPARK: Mapping[Kind, SparkType] = {
    Kind.INTEGER: _NUMBER,
    Kind.INSTANT: _NUMBER,
    Kind.IDENTIFIER: _NUMBER,
    Kind.TEXT: SparkType("string", F.octet_length),
    Kind.FLAG: SparkType("boolean", _itself),
}


def refused(column: Column) -> Expression:
    """Whether the column refuses the value of that name, as `Column.refuses` says."""
    value = F.col(column.name)
    size, (low, high) = SPARK[column.kind].size(value), column.bounds
    outside = F.lit(False) if column.nullable else value.isNull()
    if low is not None:
        outside = outside | F.coalesce(size < low, F.lit(False))
    if high is not None:
        outside = outside | F.coalesce(size > high, F.lit(False))
    return outside
