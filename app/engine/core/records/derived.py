"""Derived columns of a batch, each kind from its bases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from app.codecs.avro.column_arrays import ColumnArrays, ColumnCells, short_text
from app.domain.column import Addition, Coalesce, Derived, Difference, Equals


def made(derived: Derived, columns: ColumnArrays) -> ColumnCells:
    """The column, of records of which its bases were read."""
    return MAKERS[type(derived)](derived, [columns.column(base) for base in derived.bases])


def _difference(derived: Derived, bases: Sequence[ColumnCells]) -> ColumnCells:
    left, right = bases
    return ColumnCells(derived.column.kind, left.values - right.values, left.present & right.present)


def _first_present(derived: Derived, bases: Sequence[ColumnCells]) -> ColumnCells:
    first, *others = bases
    for other in others:
        values = np.where(first.present, first.values, other.values)
        first = ColumnCells(derived.column.kind, values, first.present | other.present)
    return first


def _added(derived: Derived, bases: Sequence[ColumnCells]) -> ColumnCells:
    values = np.sum([base.values for base in bases], axis=0)
    return ColumnCells(derived.column.kind, values, np.logical_and.reduce([base.present for base in bases]))


def _equal(derived: Equals, bases: Sequence[ColumnCells]) -> ColumnCells:
    (base,) = bases
    if isinstance(derived.equal_to, str):
        same = (base.views == short_text(derived.equal_to)).all(axis=1)
    else:
        same = base.values[0] == derived.equal_to
    values = (same & base.present).astype(np.int64)[np.newaxis]
    return ColumnCells(derived.column.kind, values, np.ones(len(same), np.bool_))


MAKERS: Mapping[type[Derived], Callable[[Any, Sequence[ColumnCells]], ColumnCells]] = {
    Difference: _difference,
    Coalesce: _first_present,
    Addition: _added,
    Equals: _equal,
}
