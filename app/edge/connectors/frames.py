"""Finals as they were published, and as a database holds them, in the columns of its table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple

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
VALUES: Mapping[CellType, type] = {CellType.INTEGER: int, CellType.TEXT: str, CellType.INTEGERS: list}
OIDS = {20: CellType.INTEGER, 25: CellType.TEXT, 1016: CellType.INTEGERS}
"""PostgreSQL's numbers of the types that finals' fields have."""
EPOCH = datetime(1970, 1, 1)
CHUNK_ROWS = 20_000
CONNECT_SECONDS = 10


class DatabaseUnusable(FlagfallError):
    """The database does not answer, or has no such table; the text says which, and what to do."""


class NoFinal(NamedTuple):
    """A record of the topic that somebody else wrote: without a value, or with another than a final has. The sink
    passes over an empty one; at another its task fails."""

    partition: int
    offset: int
    is_empty: bool


class FinalsRead(NamedTuple):
    """What stands in the topic: a row per final, with where it stands, and what is none."""

    finals: pl.DataFrame
    no_finals: list[NoFinal]


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
    records: Iterable[Message], columns: Sequence[FinalColumn], others: Sequence[FinalColumn] = ()
) -> FinalsRead:
    """Finals with those of the other columns that any of them has."""
    asked, no_finals = (*columns, *others), list[NoFinal]()

    def rows() -> Iterator[tuple[Any, ...]]:
        for record in records:
            value, partition, offset = record.value(), record.partition(), record.offset()
            if (told := _final(value, asked)) is None:
                no_finals.append(NoFinal(partition, offset, is_empty=not value))
                continue
            _, at_ms = record.timestamp()
            yield (
                *(told.get(column.name) for column in asked),
                partition,
                offset,
                EPOCH + timedelta(milliseconds=at_ms),
            )

    found = _frame(rows(), {column.name: TYPES[column.type] for column in asked} | PLACE)
    unused = [column.name for column in others if found[column.name].null_count() == len(found)]
    return FinalsRead(found.drop(unused), no_finals)


def held(database: str, table: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The table's rows in these columns, as they stand in one snapshot. Raises DatabaseUnusable."""
    names = ", ".join(map(quoted, schema))
    with _asked(database) as connection, connection.cursor(name="finals") as cursor:
        cursor.itersize = CHUNK_ROWS
        cursor.execute(f"select {names} from {quoted(table)}".encode())
        return _frame(cursor, schema)


def _final(value: bytes | None, columns: Sequence[FinalColumn]) -> dict[str, Any] | None:
    """What the value says, if it is that of a final: with all that finals of every version have."""
    try:
        told = orjson.loads(value or b"null")
    except orjson.JSONDecodeError:
        return None
    return told if isinstance(told, dict) and all(_fits(told.get(one.name), one) for one in columns) else None


def _fits(value: Any, column: FinalColumn) -> bool:
    return not column.is_always if value is None else isinstance(value, VALUES[column.type])


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
