"""Usable records as the halves of a join or alert that they are: selected, named, with a time. By column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.blobs import Blobs
from app.codecs.cells.to_json import flags_as_json, numbers_as_json, objects_of, texts_as_json
from app.codecs.stored.halves import SIDE_SHIFT
from app.codecs.weaving import chosen
from app.domain.column import Kind
from app.domain.pairs.half import Half
from app.domain.pairs.joined import Side
from app.domain.pairs.pairing import Pairing
from app.engine.core.batch import Batch
from app.engine.core.records.usable import Usable
from app.engine.core.rows.halves import NONE


class Arrivals(NamedTuple):
    """Each usable record of a batch as a half, by column; `sides` NONE is out of scope.

    `ids` are JSON; `watermarks_us` include the record.
    """

    sides: Int64s
    at_us: Int64s
    ids: Blobs
    offsets: Int64s
    watermarks_us: Int64s

    def __len__(self) -> int:  # records, not fields
        return len(self.sides)

    @property
    def places(self) -> Int64s:
        """As the changelog knows them; of those out of scope without a meaning."""
        return self.offsets | np.maximum(self.sides, 0) << SIDE_SHIFT

    @classmethod
    def nothing(cls, offset: int, watermark_us: int) -> Arrivals:
        """No half, but a watermark that holds from an offset on."""
        none = np.full(1, NONE, np.int64)
        return cls(none, none, Blobs.nulls(1), np.array([offset]), np.array([watermark_us]))

    def behind(self, first: Arrivals) -> Arrivals:
        """The same with others before them."""
        return Arrivals(
            sides=np.concatenate([first.sides, self.sides]),
            at_us=np.concatenate([first.at_us, self.at_us]),
            ids=Blobs.joined([first.ids, self.ids]),
            offsets=np.concatenate([first.offsets, self.offsets]),
            watermarks_us=np.concatenate([first.watermarks_us, self.watermarks_us]),
        )


def arrivals(of: Pairing, batch: Batch, usable: Usable) -> Arrivals:
    """The usable records of a batch."""
    sides, at_us = np.full(len(usable), NONE, np.int64), np.zeros(len(usable), np.int64)
    ids = [Blobs.nulls(len(usable))]
    for number, side in enumerate(Side):
        half = of.half(side)
        if half.topic == batch.topic:
            taken = _taken(half, usable)
            sides[taken], at_us[taken] = number, usable.column(half.at).values[0][taken]
            ids.append(json_of(usable, half.id))
    which = np.where(sides < 0, 0, sides + 1) if len(ids) == 1 + len(Side) else (sides >= 0).astype(np.int64)
    return Arrivals(sides, at_us, chosen(which, ids), batch.offsets[usable.index], usable.watermarks_us)


def carried_columns(of: Pairing, side: Side, usable: Usable, rows: Int64s) -> Blobs:
    """What halves of a side carry into what is told of them, as JSON objects; of some of the records."""
    names = of.needed(side)
    return objects_of(names, [json_of(usable, name, rows) for name in names], len(rows))


def json_of(usable: Usable, name: str, rows: Int64s | None = None) -> Blobs:
    """A column as JSON; of some of the records, None: of all."""
    cells = usable.column(name)
    if cells.kind is Kind.TEXT:
        return texts_as_json(usable.text_bytes(name, rows))
    values, present = (cells.values[0], cells.present) if rows is None else (cells.values[0][rows], cells.present[rows])
    return (flags_as_json if cells.kind is Kind.FLAG else numbers_as_json)(values, present)


def _taken(half: Half, usable: Usable) -> Mask:
    """Which records are meant, as `Half.takes`."""
    known = usable.column(half.id).present & usable.column(half.at).present
    if half.only is None:
        return known
    selected: Mask = usable.frame[half.only.column].is_in(list(half.only.values)).fill_null(value=False).to_numpy()
    return known & selected
