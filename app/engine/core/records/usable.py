"""What of a batch can be used: decoded, within bounds, stamped sensibly; and why the rest cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from app.codecs.arrays import Int64s
from app.codecs.avro.column_arrays import ColumnArrays, ColumnCells, Layout, Present
from app.codecs.avro.decode import BlockDecoder, Decoded
from app.codecs.avro.schema import Schemas
from app.codecs.blobs import Blobs
from app.domain.cleanliness.condition import columns_of
from app.domain.records import Reason
from app.domain.rules.epochs import SkewEpoch
from app.domain.source import Kind, Source
from app.engine.core.batch import Batch
from app.engine.core.records import fingerprint
from app.engine.core.records.conditions import held
from app.engine.core.records.derived import made
from app.engine.core.records.judging import (
    NO_TIMESTAMP,
    OUT_OF_BOUNDS,
    SKEWED,
    UNCLEAN,
    UNDECODED,
    USABLE,
    write_verdicts,
)

_REASONS = {NO_TIMESTAMP: str(Reason.NO_TIMESTAMP), SKEWED: str(Reason.SKEWED)}


@dataclass
class Usable:
    """The usable records of a batch, in offset order, by column.

    `index` is each one's place in the batch, `watermarks_us` the running watermark, the record itself included.
    """

    index: Int64s
    origins: Int64s
    mixes: Int64s
    watermarks_us: Int64s
    arrays: ColumnArrays
    derived: Mapping[str, ColumnCells]
    rows: npt.NDArray[np.intp] | None
    """Where they stand in `arrays`, if not all of them can be used."""

    def __len__(self) -> int:
        return len(self.index)

    @classmethod
    def together(cls, parts: Sequence[Usable]) -> Usable:
        """The records of several batches of a source, one batch behind the other."""
        if len(parts) == 1:
            return parts[0]
        arrays = [part.arrays for part in parts]
        begins = np.cumsum([0, *(held.height for held in arrays)]).tolist()
        rows = [
            np.arange(begin, end) if part.rows is None else part.rows + begin
            for part, begin, end in zip(parts, begins, begins[1:], strict=False)
        ]
        return cls(
            index=np.concatenate([part.index for part in parts]),
            origins=np.concatenate([part.origins for part in parts]),
            mixes=np.concatenate([part.mixes for part in parts]),
            watermarks_us=np.concatenate([part.watermarks_us for part in parts]),
            arrays=ColumnArrays.joined(arrays),
            derived={name: ColumnCells.joined([part.derived[name] for part in parts]) for name in parts[0].derived},
            rows=None if all(part.rows is None for part in parts) else np.concatenate(rows),
        )

    def column(self, name: str) -> ColumnCells:
        """A column, derived ones among them; KeyError if it was not read."""
        cells = self.derived.get(name) or self.arrays.column(name)
        return cells if self.rows is None else cells.at(self.rows)

    def text_bytes(self, name: str, at: Int64s | None = None) -> Blobs:
        """Texts of some of the records in UTF-8, null among them; None: of all."""
        rows = self.rows if at is None else at if self.rows is None else self.rows[at]
        return self.arrays.text_bytes(name, rows)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All columns that were read."""
        frame = self.arrays.frame(self.derived)
        return frame if self.rows is None else frame[self.rows]

    def raised(self, from_offsets: npt.NDArray[np.bool_], watermark_us: int) -> Usable:
        """With the watermark raised to at least this for some of the records."""
        raised = np.where(from_offsets, np.maximum(self.watermarks_us, watermark_us), self.watermarks_us)
        return replace(self, watermarks_us=raised)


def usable_records(
    source: Source,
    batch: Batch,
    watermark_us: int,
    schemas: Schemas,
    read: frozenset[str] | None = None,
    epoch: SkewEpoch | None = None,
) -> tuple[Usable, list[tuple[int, str]]]:
    """The usable records with all that views need, and (index in the batch, reason) of the others.

    The running watermark begins with `watermark_us`. `read` names the columns wanted, derived ones among them (None:
    all); the bounds of all columns are minded. `epoch` says by what records are refused (None: as declared).
    """
    epoch = epoch or SkewEpoch.declared(source)
    refusing = source.conditions(epoch.refuses)
    asked = frozenset[str]().union(*(columns_of(condition) for _, condition in refusing))
    decoded = _decoder(source, None if read is None else read | asked).decode(batch.packed, schemas)
    derived = _derived_columns(source, decoded.columns, read)
    unclean = [held(condition, _reader(derived, decoded.columns)) for _, condition in refusing]
    reported = derived.get(source.reported_at) or decoded.columns.column(source.reported_at)
    verdicts, watermarks_us = np.empty(len(batch), np.int8), np.empty(len(batch), np.int64)
    write_verdicts(
        decoded.fates,
        reported.values[0],
        reported.present,
        np.require(batch.timestamps_ms, requirements=("C", "W")),
        np.logical_or.reduce([np.zeros(len(batch), np.bool_), *unclean]),
        epoch.skew_seconds * 1_000_000,
        watermark_us,
        verdicts,
        watermarks_us,
    )
    rows = np.flatnonzero(verdicts == USABLE) if verdicts.any() else None
    offsets = batch.offsets if rows is None else batch.offsets[rows]
    origins = fingerprint.origins(source.topic(batch.topic).number, batch.partition, offsets)
    usable = Usable(
        index=np.arange(len(batch)) if rows is None else rows,
        origins=origins,
        mixes=fingerprint.mix_all(origins),
        watermarks_us=watermarks_us if rows is None else watermarks_us[rows],
        arrays=decoded.columns,
        derived=derived,
        rows=rows,
    )
    if rows is None:
        return usable, []
    of_rules = dict(zip((name for name, _ in refusing), unclean, strict=True))
    return usable, _refused(source, batch, decoded, verdicts, of_rules)


@lru_cache
def _decoder(source: Source, read: frozenset[str] | None) -> BlockDecoder:
    """A decoder into the columns wanted and those that derived ones are made of; it keeps what it learns of schemas."""
    if read is not None:
        made_of = {source.reported_at, *(name for d in source.derived for name in d.bases)}
        read = read.union(made_of, *(rule.columns for rule in source.rules_in(read)))
    return BlockDecoder(Layout(source.columns, read))


def _derived_columns(source: Source, columns: ColumnArrays, read: frozenset[str] | None) -> dict[str, ColumnCells]:
    """All derived columns, and those of the rules that are read."""
    derived = {derived.column.name: made(derived, columns) for derived in source.derived}
    rules = source.rules if read is None else source.rules_in(read)
    column, always = _reader(derived, columns), np.ones(columns.height, np.bool_)
    return derived | {
        rule.name: ColumnCells(Kind.INTEGER, held(rule.condition, column).astype(np.int64)[None], always)
        for rule in rules
    }


def _reader(derived: Mapping[str, ColumnCells], columns: ColumnArrays) -> Callable[[str], ColumnCells]:
    """A column by its name, whether it is derived or not."""
    return lambda name: derived.get(name) or columns.column(name)


def _refused(
    source: Source, batch: Batch, decoded: Decoded, verdicts: np.ndarray, unclean: Mapping[str, Present]
) -> list[tuple[int, str]]:
    """`unclean`: by rule that refuses, of which records it holds."""
    reasons: dict[int, str] = dict(decoded.refused)
    if batch.unread:
        told = enumerate(batch.offsets.tolist())
        reasons |= {i: batch.unread[offset] for i, offset in told if offset in batch.unread}
    for i in np.flatnonzero(verdicts > UNDECODED).tolist():
        if verdicts[i] == OUT_OF_BOUNDS:
            reasons[i] = f"{Reason.OUT_OF_BOUNDS}:{source.columns[decoded.fates[i]].name}"
        elif verdicts[i] == UNCLEAN:
            reasons[i] = f"{Reason.UNCLEAN}:{next(name for name, holds in unclean.items() if holds[i])}"
        else:
            reasons[i] = _REASONS[int(verdicts[i])]
    return sorted(reasons.items())
