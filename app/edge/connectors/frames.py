"""Finals as they were published, and as a database holds them, in the columns of its table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import orjson
import polars as pl
import psycopg
from confluent_kafka import Message

from app.domain.errors import FlagfallError
from app.edge.connectors.columns import OFFSET, PARTITION, PUBLISHED_AT, CellType, FinalColumn
from app.edge.connectors.postgres import quoted

TYPES: Mapping[CellType, pl.DataType] = {
    CellType.INTEGER: pl.Int64(),
    CellType.TEXT: pl.String(),
    CellType.INTEGERS: pl.List(pl.Int64()),
}
PLACE: dict[str, pl.DataType] = {PARTITION: pl.Int64(), OFFSET: pl.Int64(), PUBLISHED_AT: pl.Datetime("us")}
OIDS = {20: CellType.INTEGER, 25: CellType.TEXT, 1016: CellType.INTEGERS}
"""PostgreSQL's numbers of the types that finals' fields have."""
EPOCH = datetime(1970, 1, 1)
CHUNK_ROWS = 20_000
CONNECT_SECONDS = 10


class DatabaseUnusable(FlagfallError):
    """The database does not answer, or has no such table; the text says which, and what to do."""


def other_columns(database: str, table: str, columns: Sequence[FinalColumn]) -> list[FinalColumn]:
    """Of the table those beside these and the sink's own that a field of another version may be in.

    Raises DatabaseUnusable.
    """
    known = {*(column.name for column in columns), *PLACE}
    with _asked(database) as connection:
        found = connection.execute(f"select * from {quoted(table)} limit 0".encode()).description or ()
    return [
        FinalColumn(one.name, OIDS[one.type_code]) for one in found if one.type_code in OIDS and one.name not in known
    ]


def published(
    finals: Iterable[Message], columns: Sequence[FinalColumn], others: Sequence[FinalColumn] = ()
) -> pl.DataFrame:
    """A row per record of the topic, with where it stands; with those of the others that any final has."""
    asked = (*columns, *others)
    names = [column.name for column in asked]

    def rows() -> Iterator[tuple[Any, ...]]:
        for final in finals:
            told = orjson.loads(final.value() or b"{}")
            _, at_ms = final.timestamp()
            place = (final.partition(), final.offset(), EPOCH + timedelta(milliseconds=at_ms))
            yield (*(told.get(name) for name in names), *place)

    found = _frame(rows(), {column.name: TYPES[column.type] for column in asked} | PLACE)
    return found.drop(column.name for column in others if found[column.name].null_count() == len(found))


def held(database: str, table: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The table's rows in these columns, as they stand in one snapshot. Raises DatabaseUnusable."""
    names = ", ".join(map(quoted, schema))
    with _asked(database) as connection, connection.cursor(name="finals") as cursor:
        cursor.itersize = CHUNK_ROWS
        cursor.execute(f"select {names} from {quoted(table)}".encode())
        return _frame(cursor, schema)


@contextmanager
def _asked(database: str) -> Iterator[psycopg.Connection[Any]]:
    try:
        with psycopg.connect(database, connect_timeout=CONNECT_SECONDS) as connection:
            yield connection
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
        told = str(error).splitlines()[0]
        raise DatabaseUnusable(f"{told}: `flagfall connect table` tells the table as it should be") from error
    except psycopg.Error as error:
        raise DatabaseUnusable(f"the database cannot be read: {str(error).strip()}") from error


def _frame(rows: Iterable[Sequence[Any]], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    parts, chunk = [pl.DataFrame(schema=schema)], list[Sequence[Any]]()
    for row in rows:
        chunk.append(row)
        if len(chunk) == CHUNK_ROWS:
            parts.append(pl.DataFrame(chunk, schema=schema, orient="row"))
            chunk = []
    parts.append(pl.DataFrame(chunk, schema=schema, orient="row"))
    return pl.concat(parts)
