"""A rule's condition as a Spark column: a translation of `app.domain.cleanliness.condition`, beside the worker's."""

from __future__ import annotations

from functools import reduce
from operator import add, and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.cleanliness.condition import COMPARISONS, AllOf, AnyOf, Condition, Inequality, Missing, Term


def held(condition: Condition) -> Column:
    """Whether it holds of a record: never null."""
    match condition:
        case AllOf(of):
            return reduce(and_, map(held, of))
        case AnyOf(of):
            return reduce(or_, map(held, of))
        case Missing(column, is_null):
            return F.col(column).isNull() if is_null else F.col(column).isNotNull()
        case Inequality(terms, sign, value):
            compared: Column = COMPARISONS[sign](reduce(add, map(_summand, terms)), F.lit(value))
            return F.coalesce(compared, F.lit(False))


def _summand(term: Term) -> Column:
    value = F.col(term.column).cast("bigint")
    known = F.coalesce(value, F.lit(0).cast("bigint")) if term.or_zero else value
    return known if term.factor == 1 else known * F.lit(term.factor)
