"""Frames that wait on disk, so that no file of rides is ever in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa

from app.rides.tlc.errors import NoRoom


class Spill:
    """Frames of one schema in a file of their own, read in the order in which they were added.

    Raises NoRoom where the disk takes no more.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._writer: pa.RecordBatchStreamWriter | None = None

    def add(self, frame: pl.DataFrame) -> None:
        """Before the first reading."""
        table = frame.to_arrow()
        try:
            if self._writer is None:
                options = pa.ipc.IpcWriteOptions(compression="lz4")
                self._writer = pa.ipc.new_stream(str(self._file), table.schema, options=options)
            self._writer.write_table(table)
        except OSError as error:
            raise NoRoom(self._file, error) from error

    def close(self) -> None:
        """What was added can be read now."""
        try:
            if self._writer is not None:
                self._writer.close()
        except OSError as error:
            raise NoRoom(self._file, error) from error

    @property
    def is_empty(self) -> bool:
        return self._writer is None

    def frames(self) -> Iterator[pl.DataFrame]:
        """As they were added."""
        if self.is_empty:
            return
        with pa.OSFile(str(self._file), "rb") as source, pa.ipc.open_stream(source) as batches:
            for batch in batches:
                yield pl.DataFrame(pl.from_arrow(batch))

    def remove(self) -> None:
        self._file.unlink()
