"""Rows as columns: an Arrow stream, a Parquet file. What they rest on is JSON in the schema's metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from app.edge.formats.format import Document, Told


def as_arrow(told: Told) -> bytes:
    """An Arrow stream."""
    from app.codecs.stored.arrow_columns import arrow_stream

    return arrow_stream(told.table())


def as_parquet(told: Told) -> bytes:
    """A Parquet file, compressed by Zstandard."""
    return _parquet(told.table())


def joined_arrow(pages: Iterator[bytes]) -> Iterator[bytes]:
    """One stream of all."""
    import pyarrow as pa

    from app.codecs.stored.arrow_columns import arrow_stream

    yield from _joined(pages, lambda page: pa.ipc.open_stream(page).read_all(), arrow_stream)


def joined_parquet(pages: Iterator[bytes]) -> Iterator[bytes]:
    """One file of all."""
    import pyarrow as pa
    from pyarrow import parquet

    yield from _joined(pages, lambda page: parquet.read_table(pa.BufferReader(page)), _parquet)


def _joined(pages: Iterator[bytes], read: Callable[[bytes], Any], written: Callable[[Any], bytes]) -> Iterator[bytes]:
    import pyarrow as pa

    tables = list(map(read, pages))
    if tables:
        yield written(pa.concat_tables(tables).replace_schema_metadata(tables[-1].schema.metadata))


def _parquet(table: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def schema(_row: Document, _meta: Document) -> Document:
    """Bytes, of which a schema says nothing."""
    return {"type": "string", "format": "binary"}
