"""Whether a table holds the finals that were published, each as it was published, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from app.edge.connectors.columns import OFFSET, PARTITION

TO_COME = "to_come"


@dataclass(frozen=True)
class TableFound:
    """Of a table with its topic.

    `equal`: rows of both, to the last value. `missing`: finals that the sink has passed and the table has not;
    `altered`: rows with other values, beside what was published; `foreign`: rows that were never published.
    `to_come`: finals behind all that the sink has written of their partition. `forgotten`: rows of finals that the
    topic does not hold any more, and so are not compared.
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
    published: pl.DataFrame, held: pl.DataFrame, key: Sequence[str], log_starts: Mapping[int, int]
) -> TableFound:
    """Both with the columns of the table; `log_starts`: by partition, the first offset that the topic holds.

    Of finals that stand in the topic twice, the later counts, as for the sink.
    """
    published = published.sort(PARTITION, OFFSET).unique(key, keep="last", maintain_order=True)
    written = held.group_by(PARTITION).agg(pl.col(OFFSET).max().alias("written_to"))
    starts = pl.DataFrame(
        {PARTITION: list(log_starts), "log_start": list(log_starts.values())},
        schema={PARTITION: pl.Int64(), "log_start": pl.Int64()},
    )
    told = published.join(written, PARTITION, "left").with_columns(
        (pl.col(OFFSET) > pl.col("written_to").fill_null(-1)).alias(TO_COME)
    )
    ours = told.drop("written_to", TO_COME)
    alone = told.join(held, key, "anti", nulls_equal=True)
    foreign = held.join(ours, key, "anti", nulls_equal=True).join(starts, PARTITION, "left")
    is_forgotten = pl.col(OFFSET) < pl.col("log_start").fill_null(0)
    others = held.join(ours, held.columns, "anti", nulls_equal=True)
    altered = others.join(told.filter(~pl.col(TO_COME)), key, "inner", nulls_equal=True, suffix="_published")
    waiting = int(told[TO_COME].sum())
    return TableFound(
        equal=len(held) - len(others),
        missing=alone.filter(~pl.col(TO_COME)).drop("written_to", TO_COME),
        altered=altered.drop("written_to", TO_COME),
        foreign=foreign.filter(~is_forgotten).drop("log_start"),
        to_come=waiting,
        forgotten=len(foreign.filter(is_forgotten)),
    )
