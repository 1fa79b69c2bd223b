"""What joins and alerts write, made again: the records of their topics, from what `folds.joins` found."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.pairs.alert import BEGAN_AT, END, END_ORIGIN, ENDED_AT, START, START_ORIGIN, Alert
from app.domain.pairs.half import Half
from app.domain.pairs.join import Join, Side
from app.domain.pairs.joined import taken_of
from app.domain.source import Source
from spark_batch.folds.mix import packed_origin
from spark_batch.source.column_types import SPARK


def joined_records(join: Join, results: DataFrame, records: Mapping[str, DataFrame]) -> DataFrame:
    """`task` and the columns of `join.source`; halves that nobody met only where the join's kind sends them."""
    sent = results
    for side, origin in zip(Side, join.origins, strict=True):
        if not join.kind.may_lack(side):
            sent = sent.where(F.col(origin).isNotNull())
    for side, origin in zip(Side, join.origins, strict=True):
        sent = _with_half(sent, origin, side, join.half(side), records)
    values = {taken.name: _either(*(taken_of(taken, side) for side in Side)) for taken in join.columns}
    return _as_source(join.source, sent, values)


def alert_records(alert: Alert, results: DataFrame, records: Mapping[str, DataFrame]) -> DataFrame:
    """`task` and the columns of `alert.source`."""
    sent = _with_half(results, START_ORIGIN, START, alert.starts, records)
    sent = _with_half(sent, END_ORIGIN, END, alert.ends, records)
    values = {
        alert.starts.id: F.col(_name(START, alert.starts.id)),
        BEGAN_AT: F.col(_name(START, alert.starts.at)),
        ENDED_AT: F.col(_name(END, alert.ends.at)),
        **{name: F.col(_name(START, name)) for name in alert.columns},
    }
    return _as_source(alert.source, sent, values)


def _with_half(sent: DataFrame, origin: str, side: Side, half: Half, records: Mapping[str, DataFrame]) -> DataFrame:
    """With what the record of that origin holds, nulls where there is none."""
    known = records[half.topic].where("reason is null")
    held = [F.col(name).alias(_name(side, name)) for name in half.source.by_name if name in known.columns]
    return sent.join(known.select(packed_origin().alias(origin), *held), origin, "left")


def _either(left: str | None, right: str | None) -> Column:
    names = [_name(side, name) for side, name in zip(Side, (left, right), strict=True) if name is not None]
    return F.coalesce(*map(F.col, names))


def _name(side: Side, column: str) -> str:
    return f"{side}_of_{column}"


def _as_source(source: Source, sent: DataFrame, values: Mapping[str, Column]) -> DataFrame:
    columns = {column.name: values.get(column.name, F.col(column.name)) for column in source.columns}
    typed = [value.cast(SPARK[source.by_name[name].kind].sql).alias(name) for name, value in columns.items()]
    return sent.select("task", *typed)
