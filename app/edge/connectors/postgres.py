"""The table of a view's finals in PostgreSQL 15 or later."""

from __future__ import annotations

from app.domain.view import WINDOW_END, WINDOW_NAME, View
from app.edge.connectors.columns import (
    LAST,
    OFFSET,
    PARTITION,
    PUBLISHED_AT,
    REVISION,
    VERSION,
    WINDOW_END_TIME,
    WINDOW_START_TIME,
    CellType,
    final_columns,
    key_columns,
)

TYPES = {CellType.INTEGER: "bigint", CellType.TEXT: "text", CellType.INTEGERS: "bigint[]"}


def table_statements(view: View, table: str) -> str:
    """SQL that makes the table `table`, and the view of its last revisions, where they are not there yet; and adds
    the columns that a table of the view's earlier versions lacks.

    A group may be null, and is one group: the unique key takes nulls as equal, which PostgreSQL can from 15 on.
    Raises DefinitionError.
    """
    finals = final_columns(view)
    columns = [
        f"{quoted(column.name)} {TYPES[column.type]}{' not null' if column.is_always else ''}" for column in finals
    ]
    added = [
        f"alter table {quoted(table)} add column if not exists {quoted(column.name)} {TYPES[column.type]};\n"
        for column in finals
        if not column.is_always
    ]
    columns += [f"{quoted(PARTITION)} integer not null", f"{quoted(OFFSET)} bigint not null"]
    columns.append(f"{quoted(PUBLISHED_AT)} timestamp not null")
    columns += [
        f"{quoted(name)} timestamptz generated always as (to_timestamp({quoted(of)} / 1e6)) stored"
        for name, of in ((WINDOW_START_TIME, WINDOW_NAME), (WINDOW_END_TIME, WINDOW_END))
    ]
    key = key_columns(view)
    columns.append(f"unique nulls not distinct ({_listed(key)})")
    final = [name for name in key if name not in (REVISION, VERSION)]
    lines = ",\n".join(f"    {column}" for column in columns)
    return (
        f"create table if not exists {quoted(table)} (\n{lines}\n);\n"
        f"{''.join(added)}"
        f"create or replace view {quoted(table + LAST)} as\n"
        f"    select distinct on ({_listed(final)}) * from {quoted(table)}\n"
        f"    order by {_listed([*final, PUBLISHED_AT])} desc, {quoted(REVISION)} desc;\n"
    )


def quoted(name: str) -> str:
    """An identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(map(quoted, names))
