"""A history's gold made by hand, as `spark_batch.layers.gold` writes it: what reads this reads that."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, write_deltalake

from app.base.files.history import gold_folder, write_told
from app.domain.view import WINDOW_DAY, WINDOW_END, WINDOW_NAME, View
from tests.support.material.stored.tables import TableRows

RUN = "20260101T000000-aaaa"


def write_gold(history: Path, view: View, rows: TableRows, final_to_us: int) -> None:
    """Final rows of windows, by a run that found them right, in the place of what is there."""
    names = [group.name for group in view.groups]
    told = [
        {WINDOW_NAME: start_us, WINDOW_END: view.window.window_end(start_us), WINDOW_DAY: day_of(start_us)}
        | dict(zip(names, key.group, strict=True))
        | dict(zip(view.cells, cells, strict=True))
        for key, cells in rows.items()
        if (start_us := key.window_start_us) is not None
    ]
    texts = view.texts[len(view.texts) - len(names) :]
    groups = [(name, pa.string() if text else pa.int64()) for name, text in zip(names, texts, strict=True)]
    cells_schema = [(name, pa.int64()) for name in view.cells]
    ends = [(WINDOW_NAME, pa.int64()), (WINDOW_END, pa.int64())]
    table = pa.Table.from_pylist(told, pa.schema([*ends, *groups, *cells_schema, (WINDOW_DAY, pa.date32())]))
    told_by_commit = {"userMetadata": write_told({"run": RUN, "final_to_us": final_to_us})}
    folder, told_so = gold_folder(history, view), CommitProperties(custom_metadata=told_by_commit)
    folder.mkdir(parents=True, exist_ok=True)
    write_deltalake(folder, table, mode="overwrite", partition_by=[WINDOW_DAY], commit_properties=told_so)


def day_of(start_us: int) -> date:
    return datetime.fromtimestamp(start_us // 1_000_000, UTC).date()
