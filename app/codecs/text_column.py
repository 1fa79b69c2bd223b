"""A column of texts, held as UTF-8 in one buffer and read as an array of str and None would be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from app.codecs.blobs import Blobs

Which = npt.NDArray[np.int64] | npt.NDArray[np.bool_] | slice
"""Some texts: by number, by mask, or in a row."""


class TextColumn(Sequence["str | None"]):
    """Texts are made of their bytes when somebody asks for them; whoever writes, compares or moves them does not."""

    dtype = np.dtype(object)

    def __init__(self, utf8: Blobs) -> None:
        """`utf8` is what it says: nobody looks."""
        self.utf8 = utf8

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> TextColumn:
        """The same texts; UnicodeEncodeError for one that is half of a surrogate pair."""
        if isinstance(texts, TextColumn):
            return texts
        return cls(Blobs.of(None if text is None else text.encode() for text in texts))

    def __len__(self) -> int:
        return len(self.utf8)

    @overload
    def __getitem__(self, at: int | np.integer[Any]) -> str | None: ...
    @overload
    def __getitem__(self, at: Which) -> TextColumn: ...
    def __getitem__(self, at: int | np.integer[Any] | Which) -> str | TextColumn | None:
        if isinstance(at, slice):
            return TextColumn(self.utf8[at])
        if isinstance(at, np.ndarray):
            return TextColumn(self.utf8.at(at))
        return _text(self.utf8[int(at)])

    def __iter__(self) -> Iterator[str | None]:
        return map(_text, self.utf8)

    def tolist(self) -> list[str | None]:
        return [*self]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[np.object_]:
        """For numpy, which puts columns one behind the other and into arrays."""
        held = np.empty(len(self), object)
        held[:] = self.tolist()
        return held


GroupColumn = npt.NDArray[Any] | TextColumn
"""A group's values by row: int64 with NULL_INTEGER for null; of texts a TextColumn, or an array of str and None."""
GroupColumns = Sequence[GroupColumn]


def _text(utf8: bytes | None) -> str | None:
    return None if utf8 is None else utf8.decode()
