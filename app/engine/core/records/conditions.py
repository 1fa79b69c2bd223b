"""A rule's condition over the columns of a batch: the worker's translation, beside the naive one and Spark's."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from app.codecs.avro.column_arrays import ColumnCells, Present
from app.domain.cleanliness.condition import COMPARISONS, AllOf, AnyOf, Condition, Inequality, Missing


def held(condition: Condition, column: Callable[[str], ColumnCells]) -> Present:
    """Of which records it holds. What it says of one that is out of bounds means nothing."""
    match condition:
        case AllOf(of):
            return reduce(np.logical_and, (held(one, column) for one in of))
        case AnyOf(of):
            return reduce(np.logical_or, (held(one, column) for one in of))
        case Missing(name, is_null):
            present = column(name).present
            return ~present if is_null else present.copy()
        case Inequality():
            return _compared(condition, column)


def _compared(comparison: Inequality, column: Callable[[str], ColumnCells]) -> Present:
    total, known = None, None
    for name, factor, or_zero in comparison.terms:
        cells = column(name)
        values = np.where(cells.present, cells.values[0], 0) if or_zero else cells.values[0]
        scaled = values if factor == 1 else values * factor
        total = scaled if total is None else total + scaled
        if not or_zero:
            known = cells.present if known is None else known & cells.present
    holds: Present = COMPARISONS[comparison.sign](total, comparison.value)
    return holds if known is None else holds & known
