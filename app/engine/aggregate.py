"""A view's rows out of a batch, in Polars: the worker's translator of a view.

Held equal to the naive fold (`app.domain.fold`) by tests/agreement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from app.codecs.changelog import NULL_INTEGER, Int64s
from app.domain.measures import Op, Part, Take
from app.domain.records import Reason
from app.domain.source import MAX_TEXT_BYTES, Coalesce, Column, Derived, Kind, Source
from app.domain.view import AllTime, Tumbling, View
from app.engine.state import Groups, Rows

INDEX, TIMESTAMP_MS, ORIGIN, MIX, WATERMARK = "__index", "__timestamp_ms", "__origin", "__mix", "__watermark"
"""Columns that a batch has beside its source's: index in the batch, Kafka timestamp, and what is computed of them."""
_WINDOW = "__window"
_FATE = "__fate"
APPLIED, LATE, OUT_OF_SCOPE = 0, 1, 2


class Aggregated(NamedTuple):
    """What a batch gives to a view: one row per key touched, and each record's fate (in batch order)."""

    rows: Rows
    fates: npt.NDArray[np.int8]


def derive(source: Source) -> list[pl.Expr]:
    """The source's derived columns."""
    return [_derived(d) for d in source.derived]


def refusals(source: Source, frame: pl.DataFrame) -> pl.Series | None:
    """Per decoded record why it is unusable, null where it is fine; None if all are fine.

    Extremes are asked for first, column by column: nearly always nothing more is to be done.
    """
    limited = [c for c in source.columns if _is_limited(c)]
    # reported_at > timestamp * 1000 + skew, without a product that may overflow
    ahead = (pl.col(source.reported_at) - source.skew_seconds * 1_000_000 - 1) // 1000
    skewed = ahead >= pl.col(TIMESTAMP_MS)
    unstamped = pl.col(TIMESTAMP_MS) < 0
    suspicious = [_any_outside(c) for c in limited] + [skewed.any().fill_null(False), unstamped.any()]
    if not frame.height or not frame.select(pl.any_horizontal(suspicious)).item():
        return None
    reasons = [pl.when(_outside(c)).then(pl.lit(f"{Reason.OUT_OF_BOUNDS}:{c.name}")) for c in limited]
    reasons.append(pl.when(unstamped).then(pl.lit(str(Reason.NO_TIMESTAMP))))
    reasons.append(pl.when(skewed).then(pl.lit(str(Reason.SKEWED))))
    return frame.select(pl.coalesce(reasons).alias("reason"))["reason"]


def aggregate(view: View, batch: pl.DataFrame) -> Aggregated:
    """Rows of the records that are in scope and in time.

    `batch` holds the usable records of one topic-partition in offset order: source columns, derived ones,
    ORIGIN, MIX, and WATERMARK (the running watermark, the record itself included).
    """
    frame = batch
    if isinstance(view.window, Tumbling):
        size = view.window.size_us
        frame = frame.with_columns((pl.col(view.window.column) // size * size).alias(_WINDOW))
    frame = frame.with_columns(_fate(view).alias(_FATE))
    fates = frame[_FATE].to_numpy().astype(np.int8, copy=False)
    applied = frame if not fates.any() else frame.filter(pl.col(_FATE) == APPLIED)
    keys = [pl.col(g.column).alias(f"__group_{i}") for i, g in enumerate(view.groups)]
    if isinstance(view.window, Tumbling):
        keys.append(pl.col(_WINDOW))
    measures = [e for part in view.parts for e in _aggregation(view.source, part)]
    grouped = applied.group_by(keys or [pl.lit(0).alias("__all")]).agg(measures)
    if not applied.height:
        grouped = grouped.clear()  # without keys, Polars makes one row of nothing
    return Aggregated(_rows(view, grouped), fates)


def merge(view: View, left: Int64s, right: Int64s) -> Int64s:
    """Two (rows, cells) arrays merged row by row, as `View.merge` does."""
    merged, at = np.empty_like(left), 0
    for part in view.parts:
        cells = slice(at, at + part.op.width)
        merged[:, cells] = _merge_part(part.op, left[:, cells], right[:, cells])
        at += part.op.width
    return merged


def _derived(derived: Derived) -> pl.Expr:
    if isinstance(derived, Coalesce):
        return pl.coalesce(*derived.columns).alias(derived.column.name)
    return (pl.col(derived.left) - pl.col(derived.right)).alias(derived.column.name)


def _is_limited(column: Column) -> bool:
    return column.kind is Kind.TEXT or not column.nullable or column.low is not None or column.high is not None


def _outside(column: Column) -> pl.Expr:
    value = pl.col(column.name)
    tests = [] if column.nullable else [value.is_null()]
    if column.kind is Kind.TEXT:
        tests.append(value.str.len_bytes() > MAX_TEXT_BYTES)
    elif column.kind is not Kind.FLAG:
        tests += [value < column.low] if column.low is not None else []
        tests += [value > column.high] if column.high is not None else []
    return pl.any_horizontal(*(t.fill_null(False) for t in tests))


def _any_outside(column: Column) -> pl.Expr:
    value = pl.col(column.name)
    tests = [] if column.nullable else [value.null_count() > 0]
    if column.kind is Kind.TEXT:
        tests.append(value.str.len_bytes().max() > MAX_TEXT_BYTES)
    elif column.kind is not Kind.FLAG:
        tests += [value.min() < column.low] if column.low is not None else []
        tests += [value.max() > column.high] if column.high is not None else []
    return pl.any_horizontal(*(t.fill_null(False) for t in tests))


def _fate(view: View) -> pl.Expr:
    if isinstance(view.window, AllTime):
        return pl.lit(APPLIED, pl.Int8)
    closes = pl.col(_WINDOW) + view.window.size_us + view.grace_us
    late = pl.when(closes <= pl.col(WATERMARK)).then(pl.lit(LATE, pl.Int8)).otherwise(pl.lit(APPLIED, pl.Int8))
    return pl.when(pl.col(_WINDOW).is_null()).then(pl.lit(OUT_OF_SCOPE, pl.Int8)).otherwise(late)


def _aggregation(source: Source, part: Part) -> list[pl.Expr]:
    if part.take is Take.ONE:
        return [pl.len().cast(pl.Int64).alias(part.name)]
    if part.take is Take.FINGERPRINT:
        return [pl.col(MIX).sum().alias(part.name)]
    assert part.column is not None  # every other part stands over a column
    value = pl.col(part.column)
    match part.take:
        case Take.PRESENT:
            return [value.count().cast(pl.Int64).alias(part.name)]
        case Take.BIN:
            inside = pl.lit(True)
            if part.low is not None:
                inside = inside & (value >= part.low)
            if part.high is not None:
                inside = inside & (value < part.high)
            return [(inside & value.is_not_null()).sum().cast(pl.Int64).alias(part.name)]
        case Take.STAMPED:
            return _stamped(source, part, value)
        case _:
            return [_extreme_or_sum(part.op, value).alias(part.name)]


def _extreme_or_sum(op: Op, value: pl.Expr) -> pl.Expr:
    (neutral,) = op.neutral
    folded = {Op.ADD: value.sum(), Op.MIN: value.min(), Op.MAX: value.max()}[op]
    return folded.fill_null(neutral)


def _stamped(source: Source, part: Part, value: pl.Expr) -> list[pl.Expr]:
    """Cells (reported_at, origin, value) of the earliest or latest record with a value."""
    known, descending = value.is_not_null(), part.op is Op.LAST
    order = [pl.col(source.reported_at).filter(known), pl.col(ORIGIN).filter(known)]
    taken = (pl.col(source.reported_at), pl.col(ORIGIN), value)
    return [
        cell.filter(known).sort_by(order, descending=descending).first().fill_null(neutral).alias(name)
        for cell, name, neutral in zip(taken, part.cells, part.op.neutral, strict=True)
    ]


def _rows(view: View, grouped: pl.DataFrame) -> Rows:
    cells = grouped.select(view.cells).to_numpy().astype(np.int64, copy=False)
    windows = grouped[_WINDOW].to_numpy() if _WINDOW in grouped.columns else None
    groups: Groups = [_group(grouped[f"__group_{i}"]) for i in range(len(view.groups))]
    return Rows(windows, groups, cells)


def _group(values: pl.Series) -> npt.NDArray[np.int64] | npt.NDArray[np.object_]:
    if values.dtype == pl.String:
        held = np.empty(len(values), object)
        held[:] = values.to_list()
        return held
    return values.cast(pl.Int64).fill_null(NULL_INTEGER).to_numpy()


def _merge_part(op: Op, left: Int64s, right: Int64s) -> Int64s:
    match op:
        case Op.ADD:
            return left + right
        case Op.MIN:
            return np.minimum(left, right)
        case Op.MAX:
            return np.maximum(left, right)
        case Op.FIRST | Op.LAST:
            return np.where(_comes_first(left, right, op)[:, None], left, right)


def _comes_first(left: Int64s, right: Int64s, op: Op) -> npt.NDArray[np.bool_]:
    """Whether the left triple wins; origins are distinct, so the first two cells decide."""
    (a, b) = (left, right) if op is Op.FIRST else (right, left)
    wins: npt.NDArray[np.bool_] = (a[:, 0] < b[:, 0]) | ((a[:, 0] == b[:, 0]) & (a[:, 1] < b[:, 1]))
    return wins
