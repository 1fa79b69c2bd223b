"""Arrays of numbers and texts as columns of Arrow, and tables as its streams.

`pa.array` of a list or an array would import pandas: half a second in which a worker does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from app.codecs.arrays import Int64s
from app.codecs.stored.changelog import NULL_INTEGER
from app.domain.records import Value

META = "flagfall-meta"


def integer_column(numbers: Int64s, *, nullable: bool = False) -> pa.Array[Any]:
    """The numbers without a copy; null where NULL_INTEGER stands, if they are `nullable`."""
    validity = _bits(numbers != NULL_INTEGER) if nullable else None
    return pa.Array.from_buffers(pa.int64(), len(numbers), [validity, pa.py_buffer(numbers.data)])


def double_column(numbers: npt.NDArray[np.float64]) -> pa.Array[Any]:
    """The numbers without a copy; null where there is none (NaN)."""
    return pa.Array.from_buffers(pa.float64(), len(numbers), [_bits(~np.isnan(numbers)), pa.py_buffer(numbers.data)])


def fingerprint_column(cells: Int64s) -> pa.Array[Any]:
    """Fingerprints without their sign."""
    return pa.Array.from_buffers(pa.uint64(), len(cells), [None, pa.py_buffer(cells.view(np.uint64).data)])


def boolean_column(held: npt.NDArray[np.bool_]) -> pa.Array[Any]:
    """Truths as bits."""
    return pa.Array.from_buffers(pa.bool_(), len(held), [None, _bits(held)])


def text_column(texts: Iterable[Value]) -> pa.Array[Any]:
    """Texts and nulls as a column."""
    encoded = [None if text is None else str(text).encode() for text in texts]
    lengths = np.fromiter((0 if text is None else len(text) for text in encoded), np.int32, len(encoded))
    ends = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])
    known = np.fromiter((text is not None for text in encoded), np.bool_, len(encoded))
    data = pa.py_buffer(b"".join(text for text in encoded if text is not None))
    return pa.Array.from_buffers(pa.string(), len(encoded), [_bits(known), pa.py_buffer(ends.data), data])


def with_meta(table: pa.Table, meta: Mapping[str, Any]) -> pa.Table:
    """The table whose schema has, as JSON, what its rows rest on."""
    return table.replace_schema_metadata({META: orjson.dumps(meta)})


def arrow_stream(table: pa.Table) -> bytes:
    """The table as an IPC stream, whole."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def _bits(held: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(held, bitorder="little").tobytes())
