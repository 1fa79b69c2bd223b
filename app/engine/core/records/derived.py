"""Derived columns of a batch, each kind from its bases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from app.codecs.avro.column_arrays import ColumnArrays, ColumnCells
from app.domain.column import Coalesce, Derived, Difference, Kind


def made(derived: Derived, columns: ColumnArrays) -> ColumnCells:
    """The column, of records of which its bases were read."""
    return MAKERS[type(derived)](derived.column.kind, [columns.column(base) for base in derived.bases])


def _difference(kind: Kind, bases: Sequence[ColumnCells]) -> ColumnCells:
    left, right = bases
    return ColumnCells(kind, left.values - right.values, left.present & right.present)


def _first_present(kind: Kind, bases: Sequence[ColumnCells]) -> ColumnCells:
    first, *others = bases
    for other in others:
        values = np.where(first.present, first.values, other.values)
        first = ColumnCells(kind, values, first.present | other.present)
    return first


MAKERS: Mapping[type[Derived], Callable[[Kind, Sequence[ColumnCells]], ColumnCells]] = {
    Difference: _difference,
    Coalesce: _first_present,
}
