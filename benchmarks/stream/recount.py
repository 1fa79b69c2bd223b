"""What a system must have in its tables, counted plainly with Polars; and how its rows are held against that."""

from __future__ import annotations

import polars as pl

from app.domain.fingerprint import INT64_MAX, INT64_MIN
from app.domain.measures.parts import Op, Part, Take
from app.domain.view import WINDOW_NAME, View

PARTITION = "partition"
SHOWN = 3


class RowsDiffer(AssertionError):
    """A system's rows are not those of the recount: its figures say nothing. The message shows some of them."""


class NotComparable(AssertionError):
    """The rides hold something that not every system treats alike: choose the data set differently."""


def recount(view: View, placed: pl.DataFrame) -> pl.DataFrame:
    """The view's rows over placed rides: `partition`, window, groups, cells. Raises NotComparable for a late ride."""
    keys = [pl.col(PARTITION)]
    if (panes := view.window.panes) and view.window.column:
        start = pl.col(view.window.column).floordiv(panes.size_us) * panes.size_us
        placed = placed.with_columns(start.alias(WINDOW_NAME))
        late = placed.filter(pl.col(WINDOW_NAME) + panes.size_us + view.grace_us <= pl.col("watermark_us"))
        if late.height:
            raise NotComparable(f"{late.height} rides are late for {view.name}")
        keys.append(pl.col(WINDOW_NAME))
    keys += [pl.col(group.column).alias(group.name) for group in view.groups]
    return placed.group_by(keys).agg(_cell(part) for part in view.parts)


def require_equal(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Raises RowsDiffer unless both hold the same rows, in any order."""
    missing_columns = set(expected.columns) ^ set(found.columns)
    if missing_columns:
        raise RowsDiffer(f"columns differ: {sorted(missing_columns)}")
    found = found.select(expected.columns).cast(expected.schema)
    lost = expected.join(found, on=expected.columns, how="anti", nulls_equal=True)
    extra = found.join(expected, on=expected.columns, how="anti", nulls_equal=True)
    if lost.height or extra.height or found.height != expected.height:
        raise RowsDiffer(
            f"{found.height:,} rows instead of {expected.height:,}; {lost.height:,} of the recount are not there, such "
            f"as {lost.head(SHOWN).rows()}; {extra.height:,} are others, such as {extra.head(SHOWN).rows()}"
        )


def merged(view: View, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of all partitions as one per window and group: for systems that do not keep them apart."""
    keys = [name for name in rows.columns if name not in (PARTITION, *view.cells)]
    cells = [_merged(part) for part in view.parts]
    return rows.group_by(keys).agg(cells).with_columns(pl.lit(0, pl.Int64).alias(PARTITION)).select(rows.columns)


def _cell(part: Part) -> pl.Expr:
    match part.take:
        case Take.ONE:
            return pl.len().cast(pl.Int64).alias(part.name)
        case Take.FINGERPRINT:
            return pl.col("mix").sum().alias(part.name)
    assert part.column is not None
    value = pl.col(part.column)
    match part.take:
        case Take.PRESENT:
            return value.count().cast(pl.Int64).alias(part.name)
        case Take.BIN:
            low = INT64_MIN if part.low is None else part.low
            high = INT64_MAX if part.high is None else part.high
            return value.is_between(low, high, closed="left").sum().cast(pl.Int64).alias(part.name)
        case Take.VALUE:
            folded = {Op.ADD: value.sum(), Op.MIN: value.min(), Op.MAX: value.max()}[part.op]
            return folded.fill_null(part.op.neutral[0]).alias(part.name)
    raise ValueError(
        f"{part.name}: the recount knows no {part.take}; bench views of counts, sums, bins, least and greatest"
    )


def _merged(part: Part) -> pl.Expr:
    value = pl.col(part.name)
    return {Op.ADD: value.sum(), Op.MIN: value.min(), Op.MAX: value.max()}[part.op]
