"""What joins and alerts give, in columns: values out of halves as they waited, Avro records out of values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.avro.schema import framing
from app.codecs.blobs import NULL, Blobs
from app.codecs.cells.from_json import columns_of, numbers_from_json, texts_from_json
from app.codecs.cells.to_avro import flag_cells, number_cells, text_cells
from app.codecs.cells.to_json import numbers_as_json
from app.codecs.weaving import chosen, one_of, spread, woven
from app.domain.column import Kind
from app.domain.pairs.joined import Side
from app.domain.pairs.pairing import Pairing
from app.engine.core.batch import OutputColumns

ToldColumn = Blobs | tuple[Int64s, Mask]
"""A column: texts in UTF-8, or numbers or flags and which there are."""


def carried(of: Pairing, side: Side, columns: Blobs) -> dict[str, ToldColumn]:
    """The columns that halves of a side carry (JSON objects), by their names there; null where there is no object."""
    names, there = of.needed(side), np.flatnonzero(columns.lengths != NULL)
    kinds = of.half(side).source.by_name
    cells = columns_of(names, columns.at(there))
    return {
        name: values_of(kinds[name].kind, spread(column, there, len(columns)))
        for name, column in zip(names, cells, strict=True)
    }


def values_of(kind: Kind, cells: Blobs) -> ToldColumn:
    """A column that is JSON."""
    return texts_from_json(cells) if kind is Kind.TEXT else numbers_from_json(cells)


def first_of(one: ToldColumn, other: ToldColumn) -> ToldColumn:
    """In each row the value of one column, or where it has none, of the other."""
    if isinstance(one, Blobs) and isinstance(other, Blobs):
        return chosen((one.lengths == NULL).astype(np.int64), [one, other])
    assert not isinstance(one, Blobs)
    assert not isinstance(other, Blobs)  # a definition takes both of one kind
    return np.where(one[1], one[0], other[0]), one[1] | other[1]


def outputs_of(
    of: Pairing, schema_id: int, partition: int, columns: Mapping[str, ToldColumn], timestamps_ms: Int64s
) -> OutputColumns:
    """Records of its own topic, whose columns these are."""
    head = one_of([framing(schema_id)], np.zeros(len(timestamps_ms), np.int64))
    cells = [_cells(column.kind, columns[column.name], nullable=column.nullable) for column in of.source.columns]
    keys = _keys(of.source.by_name[of.source.key].kind, columns[of.source.key])
    return OutputColumns(of.output.name, partition, keys, woven([head, *cells]), timestamps_ms)


def _cells(kind: Kind, column: ToldColumn, *, nullable: bool) -> Blobs:
    if isinstance(column, Blobs):
        return text_cells(column, nullable=nullable)
    return (flag_cells if kind is Kind.FLAG else number_cells)(*column, nullable=nullable)


def _keys(kind: Kind, column: ToldColumn) -> Blobs:
    """As text, null where there is none."""
    if isinstance(column, Blobs):
        return column
    values, present = column
    text = (
        one_of((b"False", b"True"), (values != 0).astype(np.int64)) if kind is Kind.FLAG else numbers_as_json(*column)
    )
    return Blobs(text.data, text.starts, np.where(present, text.lengths, NULL))
