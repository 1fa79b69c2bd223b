"""Rows that merge and were open when their tasks moved their marks, as the closing stage knows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple, TypeVar

from app.codecs.stored.closings import read_open_key

At = TypeVar("At")
Held = TypeVar("Held")


class _ToldBy(NamedTuple):
    task: int
    closed_to_us: int


class OpenRows:
    """Of one view, by their keys in the changelog.

    A row is open until its task's mark passes the one that it was told with: with each mark a task tells anew of all
    that is open.
    """

    def __init__(self) -> None:
        self._told: dict[bytes, _ToldBy] = {}
        self._starts: dict[bytes, dict[bytes, int]] = defaultdict(dict)
        """Where rows begin, by group."""
        self._by_mark: dict[_ToldBy, dict[bytes, None]] = defaultdict(dict)

    def __len__(self) -> int:
        return len(self._told)

    def items(self) -> Iterable[tuple[bytes, int]]:
        """Keys, and the `closed_to_us` of the mark that each was told with."""
        return ((key, told.closed_to_us) for key, told in self._told.items())

    def put(self, rows: Iterable[tuple[bytes, int]]) -> None:
        """Keys and marks, as `items` gives them; of a row that is known the new mark counts."""
        for key, closed_to_us in rows:
            self.remove([key])
            named = read_open_key(key)
            told = self._told[key] = _ToldBy(named.task, closed_to_us)
            self._starts[named.group][key] = named.start_us
            self._by_mark[told][key] = None

    def remove(self, keys: Iterable[bytes]) -> None:
        """Some of them, known or not."""
        for key in keys:
            told = self._told.pop(key, None)
            if told is not None:
                _drop(self._by_mark, told, key)
                _drop(self._starts, read_open_key(key).group, key)

    def any_begins_by(self, group: bytes, instant_us: int) -> bool:
        """Whether a row of the group begins at the instant or before."""
        return any(start_us <= instant_us for start_us in self._starts.get(group, {}).values())

    def overtaken(self, marks_us: Mapping[int, int], most: int) -> list[bytes]:
        """Rows that are open no more by the marks of their tasks; at most so many."""
        return list(islice(self._overtaken(marks_us), most))

    def _overtaken(self, marks_us: Mapping[int, int]) -> Iterator[bytes]:
        for told, keys in self._by_mark.items():
            if told.closed_to_us < marks_us.get(told.task, told.closed_to_us):
                yield from keys


def _drop(index: dict[At, dict[bytes, Held]], at: At, key: bytes) -> None:
    del index[at][key]
    if not index[at]:
        del index[at]
