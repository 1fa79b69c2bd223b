"""Rows as comma-separated values, which spreadsheets and shells take: the columns of Arrow and Parquet, as text.

There is no place for what they rest on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from app.domain.fingerprint import as_hex
from app.domain.windows.instants import to_iso
from app.edge.formats.format import Document, Told

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Of texts that a spreadsheet would run, by OWASP's list; the last four are wide forms of the first."""
QUOTED = re.compile(r'[",\r\n]|^$')
"""What is put in quotes: the empty text too, as null is nothing at all."""


def encode(told: Told) -> bytes:
    """A line of names and one for each row: readers of CSV want the names of no rows too."""
    table = told.table()
    columns = (_texts(name, table[name]) for name in table.column_names)
    return "".join(map(line, (table.column_names, *zip(*columns, strict=True)))).encode()


def joined(pages: Iterator[bytes]) -> Iterator[bytes]:
    """Below each other, named once."""
    yield next(pages, b"")
    yield from (page.partition(b"\n")[2] for page in pages)


def schema(_row: Document, _meta: Document) -> Document:
    """Text, of which a schema says nothing."""
    return {"type": "string"}


def line(values: Iterable[Any]) -> str:
    """Values as a line: null is nothing, text in quotes where it is empty or has what parts values."""
    return ",".join(map(_field, values)) + "\n"


def _field(value: Any) -> str:
    if isinstance(value, str):
        text = f"'{value}" if value.lstrip("'").startswith(FORMULA_STARTS) else value
        return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _texts(name: str, column: Any) -> Iterable[Any]:
    """A column's values; those that are no number and no text of their own as text."""
    kind = str(column.type)
    if kind.startswith("timestamp"):
        column = column.cast("int64")  # instants that Arrow makes for Python would import pandas
        return map(_known(to_iso), column.to_pylist())
    if name == "fingerprint":
        return map(as_hex, column.to_pylist())
    values: list[Any] = column.to_pylist()
    return map(_known(_listed), values) if "list" in kind else values


def _known(told: Callable[[Any], str]) -> Callable[[Any], str | None]:
    return lambda value: None if value is None else told(value)


def _listed(values: Iterable[Any]) -> str:
    return " ".join(map(str, values))
