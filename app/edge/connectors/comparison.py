"""Whether a table holds the finals that were published, each as it was published, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from app.edge.connectors.columns import OFFSET, PARTITION

BOUND = "bound"


@dataclass(frozen=True)
class TableFound:
    """Of a table with its topic.

    `equal`: rows of both, to the last value. `missing`: finals that the connector is past and the table has not;
    `altered`: rows with other values, beside what was published; `foreign`: rows that were never published.
    `to_come`: finals that the connector has not come to. `forgotten`: rows of finals that the topic does not hold any
    more, and so are not compared.
    """

    equal: int
    missing: pl.DataFrame
    altered: pl.DataFrame
    foreign: pl.DataFrame
    to_come: int
    forgotten: int

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong; something may still be to come."""
        return not (len(self.missing) or len(self.altered) or len(self.foreign))


def compare(
    published: pl.DataFrame,
    held: pl.DataFrame,
    key: Sequence[str],
    log_starts: Mapping[int, int],
    reached: Mapping[int, int],
) -> TableFound:
    """Both with the columns of the table. By partition, `log_starts`: the first offset that the topic holds;
    `reached`: that from which the connector goes on, as it has committed it, which may be behind what it wrote.

    Of finals that stand in the topic twice, the later counts, as for the sink.
    """
    last = published.sort(PARTITION, OFFSET).unique(key, keep="last", maintain_order=True)
    is_to_come = pl.col(OFFSET) >= pl.col(BOUND).fill_null(0)
    bounded = last.join(_bounds(reached), PARTITION, "left")
    ahead, passed = bounded.filter(is_to_come).drop(BOUND), bounded.filter(~is_to_come).drop(BOUND)
    others = held.join(last, held.columns, "anti", nulls_equal=True)
    earlier = others.join(published, held.columns, "semi", nulls_equal=True).join(ahead, key, "semi", nulls_equal=True)
    altered = others.join(earlier, key, "anti", nulls_equal=True)
    foreign = held.join(last, key, "anti", nulls_equal=True).join(_bounds(log_starts), PARTITION, "left")
    is_forgotten = pl.col(OFFSET) < pl.col(BOUND).fill_null(0)
    return TableFound(
        equal=len(held) - len(others),
        missing=passed.join(held, key, "anti", nulls_equal=True),
        altered=altered.join(last, key, "inner", nulls_equal=True, suffix="_published"),
        foreign=foreign.filter(~is_forgotten).drop(BOUND),
        to_come=len(ahead.join(held, key, "anti", nulls_equal=True)) + len(earlier),
        forgotten=len(foreign.filter(is_forgotten)),
    )


def _bounds(offsets: Mapping[int, int]) -> pl.DataFrame:
    """An offset per partition."""
    schema = {PARTITION: pl.Int64(), BOUND: pl.Int64()}
    return pl.DataFrame({PARTITION: list(offsets), BOUND: list(offsets.values())}, schema=schema)
