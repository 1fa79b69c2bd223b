"""From differing rows to the records that cause them: fetch what is accused, name it, and check by folding again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain import difference as d
from app.domain.fingerprint import Origin
from app.domain.records import Record
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from spark_batch.folds.recompute import rows
from spark_batch.folds.recount import Recount
from spark_batch.stored.row_frames import cells_of, key_columns, key_of, row_schema, same_key

LISTED_PER_ROW = 100
"""Records listed for a row that is missing altogether; their count is told in full."""
_ORIGIN = ["topic_number", "partition", "offset"]
_ORIGIN_SCHEMA = "topic_number int, partition int, offset long"


def explain(recount: Recount, differing: Sequence[d.ComparedRow]) -> list[d.RowDifference]:
    """Every difference of the given rows, named as far as it can be."""
    if not differing:
        return []
    view = recount.view
    suspected = {origin for row in differing if (origin := d.accused(view, row)) is not None}
    witnesses = {origin_of(view, w.record): w for w in _at_origins(recount, suspected)}
    missing = _of_missing_rows(recount, [row for row in differing if row.changelog is None and row.live is None])
    found = []
    for row in differing:
        found += d.differences(view, row, witnesses, missing.get((row.partition, row.key), ()))
    return _settle(recount, found)


def origin_of(view: View, record: Record) -> Origin:
    """Where a record stands, as fingerprints have it."""
    return Origin(view.source.topic(record.topic).number, record.partition, record.offset)


def _settle(recount: Recount, found: Sequence[d.RowDifference]) -> list[d.RowDifference]:
    claims = [one for one in found if d.corrections(one) and one.row.changelog is not None]
    if not claims:
        return list(found)
    refolded = _refold(recount, claims)
    view = recount.view
    return [
        d.settled(view, one, refolded.get((one.row.partition, one.row.key))) if one in claims else one for one in found
    ]


def _refold(recount: Recount, claims: Sequence[d.RowDifference]) -> dict[tuple[int, RowKey], Cells]:
    """The claims' rows over their records, with the faults that are claimed repeated."""
    view, spark = recount.view, recount.covered.sparkSession
    changes = [(origin_of(view, witness.record), times) for claim in claims for witness, times in d.corrections(claim)]
    lost = spark.createDataFrame([tuple(o) for o, times in changes if times < 0], _ORIGIN_SCHEMA)
    extra = spark.createDataFrame([tuple(o) for o, times in changes if times > 0], _ORIGIN_SCHEMA)
    keys = F.broadcast(_keys(recount, [claim.row for claim in claims]))
    applied = recount.applied.join(keys, same_key(view, recount.applied, keys), "leftsemi")
    faulty = applied.join(F.broadcast(lost), _ORIGIN, "leftanti").unionByName(
        recount.covered.join(F.broadcast(extra), _ORIGIN, "leftsemi").select(*applied.columns)
    )
    return {(row["task"], key_of(view, row)): cells_of(view, row) for row in rows(view, faulty).collect()}


def _at_origins(recount: Recount, origins: Iterable[Origin]) -> list[d.Witness]:
    asked = recount.covered.sparkSession.createDataFrame([tuple(origin) for origin in origins], _ORIGIN_SCHEMA)
    found = recount.covered.join(F.broadcast(asked), _ORIGIN, "leftsemi").collect()
    return [_witness(recount.view, row) for row in found]


def _of_missing_rows(
    recount: Recount, missing: Sequence[d.ComparedRow]
) -> Mapping[tuple[int, RowKey], list[d.Witness]]:
    if not missing:
        return {}
    view = recount.view
    keys = F.broadcast(_keys(recount, missing))
    first = Window.partitionBy(*key_columns(view)).orderBy(*_ORIGIN)
    belonging = recount.applied.join(keys, same_key(view, recount.applied, keys), "leftsemi")
    listed: dict[tuple[int, RowKey], list[d.Witness]] = {}
    for row in belonging.withColumn("place", F.row_number().over(first)).where(f"place <= {LISTED_PER_ROW}").collect():
        listed.setdefault((row["task"], key_of(view, row)), []).append(_witness(view, row))
    return listed


def _keys(recount: Recount, differing: Sequence[d.ComparedRow]) -> DataFrame:
    view = recount.view
    told = {(row.partition, row.key.window_start_us, *row.key.group) for row in differing}
    schema = ", ".join(row_schema(view).split(", ")[: len(key_columns(view))])
    return recount.covered.sparkSession.createDataFrame(list(told), schema)


def _witness(view: View, row: Any) -> d.Witness:
    """A collected record; only the columns kept for the view are known."""
    topic = next(topic.name for topic in view.source.topics if topic.number == row["topic_number"])
    values = {name: row[name] for name in view.source.by_name if name in row}
    record = Record(topic, row["partition"], row["offset"], row["timestamp_ms"], values)
    fate = d.Fate(row["fate"])
    return d.Witness(record, None if fate is d.Fate.OUT_OF_SCOPE else key_of(view, row), fate)
