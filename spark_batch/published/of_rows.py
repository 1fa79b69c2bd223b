"""Finals that rows were merged into, beside what the rows of all tasks make of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.corrections.finals import FinalSides, final_keys
from app.domain.difference import ComparedRow
from app.domain.rows import RowKey
from spark_batch.folds.finals import final_rows
from spark_batch.folds.recount import Recount
from spark_batch.published.compared import joined, latest
from spark_batch.published.topics import FinalsTopics
from spark_batch.stored.row_frames import cells_of, own_group_columns

EVER_US = 1 << 62


def finals_of_rows(own: Recount, rows: Iterable[ComparedRow], topics: FinalsTopics) -> Mapping[RowKey, FinalSides]:
    """Those that were published, as their last revisions have them; none of a view that never publishes again."""
    view = own.view
    keys = {key for row in rows for key in final_keys(view, row.key)} if view.revisable_us else set()
    if not keys:
        return {}
    names = ["window_start_us", *own_group_columns(view)]
    texts = view.texts[len(view.stored_groups) - len(view.groups) :]
    schema = ", ".join(
        f"{name} {'string' if text else 'bigint'}" for name, text in zip(names, (False, *texts), strict=True)
    )
    wanted = F.broadcast(own.judged.sparkSession.createDataFrame([(key[0], *key.group) for key in keys], schema))
    published = joined(latest(topics.of(view).finals, names), wanted, names, "inner")
    due = joined(final_rows(view, own.corrected.rows, EVER_US), wanted, names, "inner")

    def key_of(row: Row) -> RowKey:
        start_us, *group = (row[name] for name in names)
        return RowKey(start_us, tuple(group))

    told = {key_of(row): tuple(row["told"]["cells"] or ()) for row in published.collect()}
    made = {key_of(row): cells_of(view, row) for row in due.collect()}
    return {key: FinalSides(cells, made.get(key, view.neutral)) for key, cells in told.items()}
