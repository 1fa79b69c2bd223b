"""Derived columns in Spark, each kind from its bases."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.column import Addition, Coalesce, Derived, Difference, Equals


def made(derived: Derived) -> Column:
    """The column, in a table that has its bases."""
    return MAKERS[type(derived)](derived, [F.col(base) for base in derived.bases])


def _difference(derived: Derived, bases: Sequence[Column]) -> Column:
    left, right = bases
    return left - right


def _first_present(derived: Derived, bases: Sequence[Column]) -> Column:
    return F.coalesce(*bases)


def _added(derived: Derived, bases: Sequence[Column]) -> Column:
    return reduce(operator.add, bases)


def _equal(derived: Equals, bases: Sequence[Column]) -> Column:
    (base,) = bases
    return F.coalesce((base == F.lit(derived.equal_to)).cast("bigint"), F.lit(0).cast("bigint"))


MAKERS: Mapping[type[Derived], Callable[[Any, Sequence[Column]], Column]] = {
    Difference: _difference,
    Coalesce: _first_present,
    Addition: _added,
    Equals: _equal,
}
