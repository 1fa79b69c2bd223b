"""Many byte strings in one buffer: no object for each, and compiled loops can walk them.

data      [ k k k k | a a | v v v ]      keys of a changelog, say, as they were fetched
starts      0         6       4          in any order
lengths     4         3      -1          -1: null, wherever it starts
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Bytes, Int64s
from app.codecs.compiled import READABLE, compiled

NULL = -1
"""The length of what is null."""


class Blobs(Sequence[bytes | None]):
    """String `i` is `data[starts[i]:starts[i] + lengths[i]]`, in any order and with anything between; or null."""

    def __init__(self, data: Bytes, starts: Int64s, lengths: Int64s) -> None:
        self.data, self.starts, self.lengths = data, starts, lengths

    @classmethod
    def of(cls, values: Iterable[bytes | None]) -> Blobs:
        """The same strings, copied one behind the other unless they are in a buffer already."""
        if isinstance(values, Blobs):
            return values
        held = list(values)
        lengths = np.fromiter((NULL if v is None else len(v) for v in held), np.int64, len(held))
        taken = np.maximum(lengths, 0)
        data = np.frombuffer(b"".join(v for v in held if v is not None), np.uint8)
        return cls(data, np.cumsum(taken) - taken, lengths)

    @classmethod
    def of_rows(cls, rows: Bytes) -> Blobs:
        """Each row of a two-dimensional array as a string."""
        count, width = rows.shape
        return cls(np.ascontiguousarray(rows).reshape(-1), np.arange(count) * width, np.full(count, width))

    @classmethod
    def nulls(cls, count: int) -> Blobs:
        """So many nulls."""
        return cls(np.empty(0, np.uint8), np.zeros(count, np.int64), np.full(count, NULL))

    @classmethod
    def joined(cls, parts: Sequence[Sequence[bytes | None]]) -> Blobs:
        """The strings of all parts, in one buffer."""
        blobs = [cls.of(part) for part in parts]
        before = np.cumsum([0, *(len(part.data) for part in blobs)])
        starts = [part.starts + at for part, at in zip(blobs, before[:-1].tolist(), strict=True)]
        lengths = np.concatenate([part.lengths for part in blobs])
        return cls(np.concatenate([part.data for part in blobs]), np.concatenate(starts), lengths)

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, at: int) -> bytes | None: ...
    @overload
    def __getitem__(self, at: slice) -> Blobs: ...
    def __getitem__(self, at: int | slice) -> bytes | Blobs | None:
        if isinstance(at, slice):
            return Blobs(self.data, self.starts[at], self.lengths[at])
        if "_objects" in self.__dict__:
            return self._objects[at]
        start, length = int(self.starts[at]), int(self.lengths[at])
        return None if length == NULL else self.data[start : start + length].tobytes()

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self._objects)

    @cached_property
    def _objects(self) -> list[bytes | None]:
        """Made when somebody asks for strings one by one."""
        data = self.data.data
        places = zip(self.starts.tolist(), self.lengths.tolist(), strict=True)
        return [None if length == NULL else bytes(data[start : start + length]) for start, length in places]

    def at(self, which: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Blobs:
        """Some of them, by number or by mask, in the same buffer."""
        return Blobs(self.data, self.starts[which], self.lengths[which])

    def matrix(self, width: int) -> Bytes:
        """A (strings, width) copy of strings that are all of this length; ValueError if one is not."""
        if (self.lengths != width).any():
            raise ValueError(f"strings of {self.lengths[self.lengths != width][0]} bytes where {width} are expected")
        if not len(self) or not width:
            return np.empty((len(self), width), np.uint8)
        anywhere = np.ndarray((len(self.data) - width + 1,), f"V{width}", self.data, strides=(1,))
        copied: Bytes = anywhere[self.starts].view(np.uint8).reshape(len(self), width)
        return copied

    def beginning_with(self, heads: Sequence[bytes]) -> Int64s:
        """Which of these beginnings each string has, the first that fits; -1 where it has none, or is null."""
        widest = max(map(len, heads), default=0)
        padded = np.zeros((len(heads), widest), np.uint8)
        for row, head in zip(padded, heads, strict=True):
            row[: len(head)] = np.frombuffer(head, np.uint8)
        return _beginning_with(self.data, self.starts, self.lengths, padded, np.array([*map(len, heads)], np.int64))


@compiled(f"int64[::1]({READABLE}, int64[:], int64[:], uint8[:,::1], int64[::1])")
def _beginning_with(data: Bytes, starts: Int64s, lengths: Int64s, heads: Bytes, widths: Int64s) -> Int64s:
    found = np.full(len(starts), -1, np.int64)
    last = 0  # most strings begin like the one before
    for i in range(len(starts)):
        for tried in range(len(heads)):
            head = (last + tried) % len(heads)
            same = lengths[i] >= widths[head]
            for at in range(widths[head]):
                if not same:
                    break
                same = data[starts[i] + at] == heads[head, at]
            if same:
                found[i] = last = head
                break
    return found
