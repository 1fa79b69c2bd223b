"""DuckDB, closed to everything but the tables that it is given."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from app.domain.errors import did_you_mean

CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "threads": "1",
    "temp_directory": "",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}
"""No extension, no Python variable; what does not fit into memory fails. Files and network are closed last."""
BATCH_ROWS = 2_048
OWN_CATALOGS, OWN_SCHEMAS = ("", "temp"), ("", "main")
LISTING = ("SHOW", "SHOW_SPECIAL")
ADVICE = re.compile(r"\b(SET|INSTALL|LOAD|PRAGMA) \w")
SENTENCES = re.compile(r"(?<=\n)|(?<=\.)(?=\s)")
"""Of what DuckDB says."""
FIRST_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*+(\w+)", re.DOTALL)
"""Of a statement, behind comments."""
NO_WORDS, PIVOT = ("LOAD", "MULTI"), "PIVOT"
"""Kinds of statements that nobody writes so: INSTALL is a LOAD to DuckDB, and PIVOT several."""
WRONG_IN_ARROW = re.compile(r"\b(UHUGEINT|TIME WITH TIME ZONE|BIT|BIGNUM)\b")
"""Types of whose values Arrow gets something else."""


class RejectedStatement(Exception):
    """A statement that is not answered, with the reason in words that its author can use."""


class Fetched(NamedTuple):
    """Rows of a statement; there were more of them where it is `cut`."""

    rows: pa.Table
    cut: bool


class Database:
    """One statement's. `memory_mb` bounds what DuckDB itself allocates."""

    def __init__(self, memory_mb: int) -> None:
        self._connection = duckdb.connect(":memory:", config=CLOSED | {"memory_limit": f"{memory_mb}MB"})
        for last in ("TimeZone = 'UTC'", "enable_external_access = false", "lock_configuration = true"):
            self._connection.execute(f"SET {last}")

    def tables_of(self, text: str, known: Collection[str]) -> set[str]:
        """Which of the known tables a statement reads, by its words alone. Rejected unless it is one SELECT."""
        try:
            statements = self._connection.extract_statements(text)
        except duckdb.Error as error:
            raise RejectedStatement(_words(error)) from error
        if not statements:
            raise RejectedStatement("a statement is answered, and there is none in it")
        if len(statements) != 1:
            raise RejectedStatement(f"one statement is answered at a time, these are {len(statements)}")
        tree = self._parsed(text)
        if tree["error"]:
            raise RejectedStatement(f"only SELECT is answered; this is {_kind(text, statements[0].type.name)}")
        every = f"every view is a table: {', '.join(known)}"
        if any(node.get("show_type") in LISTING for node in _nodes(tree)):
            raise RejectedStatement(f"SHOW and a bare DESCRIBE know no views. DESCRIBE one for its columns; {every}")
        named, own = _tables_in(tree)
        for catalog, schema, name in sorted(named):
            is_own = catalog in OWN_CATALOGS and schema in OWN_SCHEMAS
            if not is_own or name not in own | {name.lower() for name in known}:
                told = ".".join(part for part in (catalog, schema, name) if part)
                raise RejectedStatement(f"no table is called {told!r}{did_you_mean(name, known)}; {every}")
        names = {name for *_, name in named}
        read = {name for name in known if name.lower() in names}
        if len(read) > len({name.lower() for name in read}):
            raise RejectedStatement(f"{', '.join(sorted(read))}: to SQL, which knows no case, two of these are one")
        return read

    def _parsed(self, text: str) -> Any:
        (told,) = self._connection.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [text]).fetchall()[0]
        try:
            return json.loads(told)
        except RecursionError:
            raise RejectedStatement("its expressions are nested too deep") from None

    def add(self, name: str, table: pa.Table) -> None:
        """A table that statements may name."""
        self._connection.register(name, table)

    def set_as_of(self, instant: str | None) -> None:
        """What statements call `getvariable('as_of')`: an instant by ISO 8601, or null."""
        self._connection.execute("SET VARIABLE as_of = CAST(? AS TIMESTAMPTZ)", [instant])

    def answer(self, text: str, most_rows: int, most_bytes: int) -> Fetched:
        """What a statement gives, up to so many rows. RejectedStatement if it fails, or gives more bytes."""
        batches, rows, held = [], 0, 0
        try:
            relation = self._connection.sql(text)
            for name, kind in zip(relation.columns, relation.types, strict=True):
                if WRONG_IN_ARROW.search(str(kind)):
                    raise RejectedStatement(f"column {name!r} is {kind}, which is not answered; cast it to VARCHAR")
            reader = relation.to_arrow_reader(BATCH_ROWS)
            for batch in reader:
                batches.append(batch)
                rows, held = rows + batch.num_rows, held + batch.nbytes
                if held > most_bytes:
                    raise RejectedStatement(f"its answer has more than {most_bytes:,} bytes; ask for less")
                if rows > most_rows:
                    break
        except (duckdb.Error, pa.ArrowException, OSError) as error:  # Arrow tells DuckDB's errors as OSError
            raise RejectedStatement(_words(error)) from error
        found = pa.Table.from_batches(batches, reader.schema)
        return Fetched(found.slice(0, most_rows), found.num_rows > most_rows)


def _kind(text: str, kind: str) -> str:
    """What a statement is called that is no SELECT: by its first word where nobody writes DuckDB's."""
    begun = FIRST_WORD.match(text)
    if begun is None or kind not in NO_WORDS:
        return kind
    word = begun[1].upper()
    return f"{word}, which is one where it says for which values: {word} … ON column IN (…)" if word == PIVOT else word


def _tables_in(tree: Any) -> tuple[set[tuple[str, str, str]], set[str]]:
    """Catalogs, schemas and names of tables that a statement reads, and names that it gives to queries of its own."""
    nodes = list(_nodes(tree))
    tables = (node for node in nodes if node.get("type") == "BASE_TABLE")
    named = {tuple(node[f"{part}_name"].lower() for part in ("catalog", "schema", "table")) for node in tables}
    own = {query["key"] for node in nodes for query in node.get("cte_map", {}).get("map", ())}
    return named, {name.lower() for name in own}


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left += node.values()
        elif isinstance(node, list):
            left += node


def _words(error: Exception) -> str:
    """Without the advice to change settings or to load extensions, which nobody can here."""
    said = str(error).partition("\n\nPossible solutions")[0]
    return "".join(part for part in SENTENCES.split(said) if not ADVICE.search(part)).strip()
