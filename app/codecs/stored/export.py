"""The export of a task's rows of one view: an Arrow IPC stream that names its marker and proves itself.

The worker writes it (`ExportWriter`), the reconciliation reads it (`read_export`); docs/formats.md, "Export".
The digest is a sum, so it can be taken chunk by chunk, and no order of rows matters.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.codecs.arrays import Int64s
from app.codecs.stored.arrow_columns import integer_column, text_column
from app.codecs.stored.changelog import NULL_INTEGER, encode_rows
from app.codecs.stored.marker import decode_marker, encode_marker
from app.codecs.stored.row_keys import encode_keys
from app.domain.errors import LayoutError
from app.domain.fingerprint import FOLD_SHIFT, LOW_32, ROUNDS
from app.domain.marker import Marker
from app.domain.records import Value
from app.domain.view import WINDOW_NAME as WINDOW
from app.domain.view import View

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
_PREFIX = "flagfall-"
_DIGEST_MODULUS = 1 << 64

Groups = Sequence[Sequence[Value] | npt.NDArray[Any]]
"""One column per group: an array of int64 with NULL_INTEGER for null, or str and None for text."""


@dataclass(frozen=True, slots=True)
class ExportMetadata:
    """What an export says of itself. `changelog_offset` is that of the marker's record; -1 before any."""

    view: str
    version: str
    partition: int
    marker: Marker
    changelog_offset: int
    row_count: int
    digest: int


def digest(keys: Sequence[bytes], values: Sequence[bytes]) -> int:
    """Order-independent digest of rows as the changelog holds them, 0 to 2**64 - 1.

    Digests of disjoint sets of rows add up to the digest of all of them, modulo 2**64.
    """
    hashes = b"".join(hashlib.blake2b(k + v, digest_size=8).digest() for k, v in zip(keys, values, strict=True))
    return int(_mix(np.frombuffer(hashes, ">u8").astype(np.uint64)).sum(dtype=np.uint64))


def add_digests(*digests: int) -> int:
    """The digest of all rows from the digests of their parts."""
    return sum(digests) % _DIGEST_MODULUS


def digest_of_columns(view: View, windows: Int64s | None, groups: Groups, cells: Int64s) -> int:
    """The digest of rows held in arrays."""
    return digest(encode_keys(view, windows, groups, len(cells)), encode_rows(cells))


def export_schema(view: View, metadata: ExportMetadata | None = None) -> pa.Schema:
    """Columns of an export of the view: window start, groups by name, one int64 per cell."""
    fields: list[pa.Field[Any]] = [pa.field(WINDOW, pa.int64())]
    fields += [pa.field(name, _arrow_type(text)) for name, text in _groups(view)]
    fields += [pa.field(cell, pa.int64(), nullable=False) for cell in view.cells]
    return pa.schema(fields, metadata=None if metadata is None else _encode_metadata(metadata))


def record_batch(view: View, windows: Int64s | None, groups: Groups, cells: Int64s) -> pa.RecordBatch:
    """Rows held in arrays as one batch of an export."""
    start = pa.nulls(len(cells), pa.int64()) if windows is None else integer_column(windows)
    columns: list[pa.Array[Any]] = [start]
    for (_, text), held in zip(_groups(view), groups, strict=True):
        columns.append(text_column(held) if text else integer_column(np.asarray(held), nullable=True))
    columns += [integer_column(np.ascontiguousarray(cells[:, at])) for at in range(cells.shape[1])]
    return pa.record_batch(columns, schema=export_schema(view))


class ExportWriter:
    """Writes an export piece by piece: each call returns the bytes to send next."""

    def __init__(self, view: View, metadata: ExportMetadata) -> None:
        self._view = view
        self._sink = _Sink()
        schema = export_schema(view, metadata)
        self._stream = pa.ipc.new_stream(self._sink, schema)

    def rows(self, windows: Int64s | None, groups: Groups, cells: Int64s) -> bytes:
        """Some rows; the first call begins with the schema and its metadata."""
        self._stream.write_batch(record_batch(self._view, windows, groups, cells))
        return self._sink.take()

    def end(self) -> bytes:
        """The end mark."""
        self._stream.close()
        return self._sink.take()


def read_export(source: bytes | Path) -> tuple[ExportMetadata, pa.Table]:
    """Metadata and rows of an export; LayoutError if it is no export or was cut short.

    The digest is not checked here, as that takes the view: `check_digest`.
    """
    received = source if isinstance(source, bytes) else source.read_bytes()
    try:
        with pa.ipc.open_stream(received) as stream:
            table = stream.read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise LayoutError(f"not a whole Arrow stream ({error}); fetch the export again") from error
    metadata = _decode_metadata(table.schema.metadata)
    if table.num_rows != metadata.row_count:
        promised = f"{metadata.view} partition {metadata.partition} promises {metadata.row_count} rows"
        raise LayoutError(f"export of {promised}, {table.num_rows} arrived; fetch it again")
    return metadata, table


def stored_rows(view: View, table: pa.Table) -> tuple[list[bytes], list[bytes]]:
    """Keys and values of an export's rows as the changelog holds them."""
    windows = _numbers(table, WINDOW) if view.window.ends else None
    groups = [
        np.array(table[name].to_pylist(), object) if text else _numbers(table, name) for name, text in _groups(view)
    ]
    cells = np.empty((table.num_rows, len(view.cells)), np.int64)
    for at, name in enumerate(view.cells):
        cells[:, at] = _numbers(table, name)
    return encode_keys(view, windows, groups, table.num_rows), encode_rows(cells)


def check_digest(view: View, metadata: ExportMetadata, table: pa.Table) -> None:
    """LayoutError if the rows are of another view or version, or are not those the digest was taken over."""
    if (metadata.view, metadata.version) != (view.name, view.version):
        told = f"{metadata.view} version {metadata.version}, wanted {view.name} version {view.version}"
        raise LayoutError(f"export of {told}; worker and reader must run the same definitions")
    found = digest(*stored_rows(view, table))
    if found != metadata.digest:
        where = f"{metadata.view} partition {metadata.partition}"
        raise LayoutError(f"export of {where}: digest {found:016x}, promised {metadata.digest:016x}; fetch it again")


class _Sink(io.RawIOBase):
    """A file that hands over what was written since the last time."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        taken, self._written = b"".join(self._written), []
        return taken


def _groups(view: View) -> list[tuple[str, bool]]:
    return [(group.name, text) for group, text in zip(view.stored_groups, view.texts, strict=True)]


def _arrow_type(text: bool) -> pa.DataType:
    return pa.string() if text else pa.int64()


def _numbers(table: pa.Table, name: str) -> Int64s:
    filled: Int64s = table[name].fill_null(pa.scalar(NULL_INTEGER, pa.int64())).to_numpy()
    return filled


def _mix(packed: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """`app.domain.fingerprint.mix` over an array, unsigned."""
    low, half = np.uint64(LOW_32), np.uint64(32)
    left, right = packed >> half, packed & low
    for xor, multiplier in ROUNDS:
        product = (right ^ np.uint64(xor)) * np.uint64(multiplier)
        left, right = right, left ^ ((product ^ (product >> np.uint64(FOLD_SHIFT))) & low)
    return (left << half) | right


def _encode_metadata(metadata: ExportMetadata) -> dict[bytes | str, bytes | str]:
    told: dict[str, bytes | str] = {
        "view": metadata.view,
        "version": metadata.version,
        "partition": str(metadata.partition),
        "marker": encode_marker(metadata.marker),
        "changelog-offset": str(metadata.changelog_offset),
        "row-count": str(metadata.row_count),
        "digest": f"{metadata.digest:016x}",
    }
    return {_PREFIX + name: value for name, value in told.items()}


def _decode_metadata(told: dict[bytes, bytes] | None) -> ExportMetadata:
    def text(name: str) -> str:
        value = (told or {}).get((_PREFIX + name).encode())
        if value is None:
            raise LayoutError(f"the Arrow stream has no {_PREFIX}{name}: it is not an export of flagfall")
        return value.decode()

    return ExportMetadata(
        view=text("view"),
        version=text("version"),
        partition=int(text("partition")),
        marker=decode_marker(text("marker").encode()),
        changelog_offset=int(text("changelog-offset")),
        row_count=int(text("row-count")),
        digest=int(text("digest"), 16),
    )
