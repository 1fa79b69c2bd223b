"""The records behind differing rows, as naming asks for them: Spark finds and folds them."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from itertools import accumulate, groupby, takewhile
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain import difference as d
from app.domain.corrections.revision import add_too
from app.domain.naming.accused import RowRecords
from app.domain.naming.blocks import OffBlock, off_blocks
from app.domain.naming.evidence import Translator
from app.domain.records import Record
from app.domain.rows import COUNT_AT, Cells
from app.domain.view import View
from spark_batch.folds.mix import packed_origin
from spark_batch.folds.recompute import rows
from spark_batch.folds.recount import Recount, applied_blocks
from spark_batch.stored.changelog import changelog_blocks
from spark_batch.stored.row_frames import cells_of, key_columns, key_of, row_schema, same_key

MOST_ORIGINS = 10_000_000
"""Records of all rows of a view among which some are looked for: 16 bytes each. Rows with few come first."""
MOST_BETWEEN = 2_000_000
"""Records among which those of several rows are told as runs."""
MOST_TRANSLATED = 200_000
"""Records that are given to the worker's own translator, of all rows of a view."""
_ROW, _PACKED, _LATE, _TIMES = "named_row", "named_origin", "named_late", "named_times"
"""Columns beside a source's own, which may be called anything else."""


class SparkEvidence:
    """The records of a view at its cut, asked in whole columns. `stored`: what the changelog holds at the cut.
    `translator`: the worker's own, if it is known."""

    def __init__(self, recount: Recount, stored: DataFrame, translator: Translator | None = None) -> None:
        self.recount, self.view, self.stored, self.translator = recount, recount.view, stored, translator
        self._spark = recount.judged.sparkSession

    @property
    def covered(self) -> DataFrame:
        """Records that the view covers, and those added to it, with the keys of the rows that are named."""
        return self.recount.accusable

    def witnesses(self, origins: Collection[int]) -> Mapping[int, d.Witness]:
        covered = self.covered.withColumn(_PACKED, packed_origin())
        asked = F.broadcast(self._spark.createDataFrame(pa.table({_PACKED: pa.array(origins, pa.int64())})))
        found = covered.join(asked, _PACKED, "leftsemi").collect()
        return {row[_PACKED]: _witness(self.view, row) for row in found}

    def records_of(
        self, rows: Sequence[d.ComparedRow], within: Sequence[tuple[int, int]] | None = None
    ) -> Mapping[d.RowPlace, RowRecords]:
        belonging = self._belonging([row.place for row in rows])
        if within is not None:
            belonging = belonging.where(_inside(within))
        sizes = dict.fromkeys(range(len(rows)), 0)
        sizes |= {row[_ROW]: row["count"] for row in belonging.groupBy(_ROW).count().collect()}
        fitting = _as_fit(sizes, MOST_ORIGINS)
        chosen = belonging if len(fitting) == len(sizes) else belonging.where(F.col(_ROW).isin(fitting))
        held = _by_row(chosen.select(_ROW, packed_origin().alias(_PACKED), _is_late().alias(_LATE)).toArrow())
        return {rows[at].place: held.get(at, RowRecords(())) for at in fitting}

    def refolded(self, changes: Mapping[d.RowPlace, Mapping[int, int]]) -> Mapping[d.RowPlace, Cells]:
        corrected = {place: cells for place, cells in self.recount.corrected.touched.items() if place in changes}
        made = dict(self._folded(changes))
        plain = self._folded({place: {} for place in corrected})
        for place, due in corrected.items():
            if plain.get(place) != due:  # set by hand, or to what the worker once read in a record
                again = add_too(self.view, made.get(place), plain.get(place), due)
                made |= {} if again is None else {place: again}
        return made

    def _folded(self, changes: Mapping[d.RowPlace, Mapping[int, int]]) -> Mapping[d.RowPlace, Cells]:
        """Rows made of records, with what corrections added."""
        if not changes:
            return {}
        told = {origin: times for of_row in changes.values() for origin, times in of_row.items()}
        origins, times = pa.array(list(told), pa.int64()), pa.array(list(told.values()), pa.int64())
        changed = F.broadcast(self._spark.createDataFrame(pa.table({_PACKED: origins, _TIMES: times})))
        belonging = self._belonging(list(changes)).withColumn(_PACKED, packed_origin()).join(changed, _PACKED, "left")
        often = F.when(_is_late(), 0).otherwise(1) + F.coalesce(_TIMES, F.lit(0))
        repeated = belonging.where(often > 0).withColumn(_TIMES, F.explode(F.array_repeat(F.lit(1), often.cast("int"))))
        found = rows(self.view, repeated).collect()
        return self._as_named(((row["task"], key_of(self.view, row)), cells_of(self.view, row)) for row in found)

    def _as_named(self, made: Iterable[tuple[d.RowPlace, Cells]]) -> Mapping[d.RowPlace, Cells]:
        return dict(made)

    def translated(self, rows: Sequence[d.ComparedRow]) -> Mapping[d.RowPlace, Cells]:
        translator = self.translator
        if translator is None:
            return {}
        fitting = _as_fit({at: (row.recomputed or (0,))[COUNT_AT] for at, row in enumerate(rows)}, MOST_TRANSLATED)
        belonging = self._belonging([rows[at].place for at in fitting]).where(~_is_late())
        found = sorted(belonging.collect(), key=lambda row: int(row[_ROW]))
        by_row = {
            rows[fitting[at]]: [_witness(self.view, row).record for row in of_row]
            for at, of_row in groupby(found, lambda row: row[_ROW])
        }
        return {row.place: self._translated(row, records, translator) for row, records in by_row.items()}

    def _translated(self, row: d.ComparedRow, records: Sequence[Record], translator: Translator) -> Cells:
        return translator(self.view, records)

    def off_blocks(self) -> Mapping[int, tuple[OffBlock, ...]]:
        return off_blocks(changelog_blocks(self.stored, self.view), applied_blocks(self.recount))

    def applied_between(self, bounds: Sequence[tuple[int, int]]) -> Sequence[int]:
        packed = packed_origin().alias(_PACKED)
        found = self.recount.applied.where(_inside(bounds)).select(packed).limit(MOST_BETWEEN + 1).toArrow()
        origins = np.sort(found[_PACKED].to_numpy())
        return _ints(origins) if len(origins) <= MOST_BETWEEN else ()

    def _belonging(self, places: Sequence[d.RowPlace]) -> DataFrame:
        """Records whose key is one of these, applied or late, with the row's number among them."""
        told = [(task, key.window_start_us, *key.group, at) for at, (task, key) in enumerate(places)]
        schema = ", ".join([*row_schema(self.view).split(", ")[: len(key_columns(self.view))], f"{_ROW} int"])
        keys = F.broadcast(self._spark.createDataFrame(told, schema))
        records = self.covered.where(F.col("fate") != d.Fate.OUT_OF_SCOPE.value)
        numbered = records.join(keys, same_key(self.view, records, keys))
        return numbered.select(*(records[name] for name in records.columns), keys[_ROW])


def _inside(bounds: Sequence[tuple[int, int]]) -> Column:
    packed = packed_origin()
    return reduce(Column.__or__, (packed.between(first, last) for first, last in bounds), F.lit(False))


def _is_late() -> Column:
    return F.col("fate") == d.Fate.LATE.value


def _as_fit(sizes: Mapping[int, int], most: int) -> list[int]:
    """Those that hold no more than so many records together, the smallest first."""
    ascending = sorted(sizes, key=lambda at: sizes[at])
    sums = accumulate(sizes[at] for at in ascending)
    return [at for at, _ in takewhile(lambda one: one[1] <= most, zip(ascending, sums, strict=True))]


def _by_row(found: pa.Table) -> dict[int, RowRecords]:
    """Packed origins of each row, ascending."""
    row, packed, late = (found[name].to_numpy() for name in (_ROW, _PACKED, _LATE))
    order = np.lexsort((packed, late, row))
    row, packed, late = row[order], packed[order], late[order]
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    return {
        int(row[begin]): RowRecords(
            _ints(packed[begin:end][~late[begin:end]]), _ints(packed[begin:end][late[begin:end]])
        )
        for begin, end in zip(begins, [*begins, len(row)][1:], strict=True)
    }


def _ints(packed: Any) -> array[int]:
    """Integers that do not overflow, eight bytes each."""
    return array("q", packed.astype(np.int64).tobytes())


def _witness(view: View, row: Any) -> d.Witness:
    """A collected record; only the columns kept for the view are known."""
    topic = next(topic.name for topic in view.source.topics if topic.number == row["topic_number"])
    values = {name: row[name] for name in view.source.by_name if name in row}
    record = Record(topic, row["partition"], row["offset"], row["timestamp_ms"], values)
    fate = d.Fate(row["fate"])
    return d.Witness(record, None if fate is d.Fate.OUT_OF_SCOPE else key_of(view, row), fate)
