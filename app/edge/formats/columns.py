"""Rows as columns: an Arrow stream, a Parquet file. What they rest on is JSON in the schema's metadata."""

from __future__ import annotations

from app.edge.formats.format import Document, Told


def as_arrow(told: Told) -> bytes:
    """An Arrow stream."""
    from app.codecs.stored.arrow_columns import arrow_stream

    return arrow_stream(told.table())


def as_parquet(told: Told) -> bytes:
    """A Parquet file, compressed by Zstandard."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(told.table(), sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def schema(_row: Document, _meta: Document) -> Document:
    """Bytes, of which a schema says nothing."""
    return {"type": "string", "format": "binary"}
