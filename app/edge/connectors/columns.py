"""The columns of a table that holds a view's finals: one row per window, group and revision (docs/formats.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from app.domain.column import Kind
from app.domain.errors import DefinitionError
from app.domain.view import WINDOW_END, WINDOW_NAME, View

LONGEST = 63
"""Of a name in PostgreSQL, in bytes; it cuts what is longer."""
LAST = "_last"
"""Behind a table's name: that of the view of its last revisions."""
TABLE_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{LONGEST - len(LAST) - 1}}}")
"""Of others Connect and PostgreSQL make something else: a schema, a topic's name, a shorter name."""
REVISION, VERSION = "revision", "version"
PARTITION, OFFSET, PUBLISHED_AT = "final_partition", "final_offset", "published_at"
"""Where in the topic the final stands, and when it was written, UTC: the sink adds them."""
WINDOW_START_TIME, WINDOW_END_TIME = "window_start_time", "window_end_time"
"""The window's ends as PostgreSQL's own instants, which it makes itself."""


class CellType(StrEnum):
    """What a column's values are, by its name among the types of Connect."""

    INTEGER = "int64"
    TEXT = "string"
    INTEGERS = "array"


@dataclass(frozen=True, slots=True)
class FinalColumn:
    """A field of a final that the table has. `is_always`: whether finals of every version of the view have it."""

    name: str
    type: CellType
    is_always: bool = False


def final_columns(view: View) -> tuple[FinalColumn, ...]:
    """In the order of the table, without those that the sink adds.

    Raises DefinitionError for names that the table cannot have.
    """
    always = [
        FinalColumn("view", CellType.TEXT, is_always=True),
        FinalColumn(VERSION, CellType.TEXT, is_always=True),
        FinalColumn(REVISION, CellType.INTEGER, is_always=True),
        FinalColumn(WINDOW_NAME, CellType.INTEGER, is_always=True),
        FinalColumn(WINDOW_END, CellType.INTEGER, is_always=True),
    ]
    kinds = {group.name: view.source.by_name[group.column].kind for group in view.groups}
    groups = [
        FinalColumn(name, CellType.TEXT if kind is Kind.TEXT else CellType.INTEGER) for name, kind in kinds.items()
    ]
    counted = [
        FinalColumn("count", CellType.INTEGER, is_always=True),
        FinalColumn("fingerprint", CellType.TEXT, is_always=True),
    ]
    shown = [
        FinalColumn(one.name, CellType.INTEGERS if one.is_list else CellType.INTEGER)
        for one in view.shown
        if one.name != "count"
    ]
    columns = (*always, *groups, *counted, *shown)
    if problems := list(_problems([column.name for column in columns])):
        raise DefinitionError(f"view {view.name} has no table in PostgreSQL", problems)
    return columns


def key_columns(view: View) -> tuple[str, ...]:
    """What tells a final from all others of the view."""
    return (VERSION, WINDOW_NAME, *(group.name for group in view.groups), REVISION)


def table_name(view: View, asked: str | None = None) -> str:
    """What a view's table is called: as asked, or after the view. Raises DefinitionError where it cannot be."""
    name = view.name.replace(".", "_").replace("-", "_") if asked is None else asked
    if not TABLE_NAME.fullmatch(name):
        most = LONGEST - len(LAST)
        told = f"{name!r}: letters of a to z, digits and _ make one, {most} at most, and no digit first"
        raise DefinitionError(f"view {view.name} has no table of that name", [told])
    return name


def _problems(names: list[str]) -> list[str]:
    ours = {PARTITION, OFFSET, PUBLISHED_AT, WINDOW_START_TIME, WINDOW_END_TIME}
    return [
        *(f"{name!r} is longer than {LONGEST} bytes" for name in names if len(name.encode()) > LONGEST),
        *(f"{name!r} is a column of the table already" for name in names if name in ours),
    ]
