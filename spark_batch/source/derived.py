"""Derived columns in Spark, each kind from its bases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.column import Coalesce, Derived, Difference


def made(derived: Derived) -> Column:
    """The column, in a table that has its bases."""
    return MAKERS[type(derived)]([F.col(base) for base in derived.bases])


def _difference(bases: Sequence[Column]) -> Column:
    left, right = bases
    return left - right


def _first_present(bases: Sequence[Column]) -> Column:
    return F.coalesce(*bases)


MAKERS: Mapping[type[Derived], Callable[[Sequence[Column]], Column]] = {
    Difference: _difference,
    Coalesce: _first_present,
}
