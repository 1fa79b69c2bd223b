"""Sorted streams of frames into one, a frame of each in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import polars as pl

CLOCK = "clock_us"


def merged(streams: Sequence[Iterator[pl.DataFrame]]) -> Iterator[pl.DataFrame]:
    """Frames whose `clock_us` never falls, as one such stream: where it is equal, an earlier stream's rows first.

    Frames are not empty.
    """
    if len(streams) == 1:
        yield from streams[0]
        return
    heads = [next(stream, None) for stream in streams]
    known = [(stream, head) for stream, head in zip(streams, heads, strict=True) if head is not None]
    yield from _Merge([stream for stream, _ in known], [head for _, head in known]).frames()


class _Merge:
    """`heads`: of each stream, what was read and not given out. An ended stream's head holds back nobody."""

    def __init__(self, streams: list[Iterator[pl.DataFrame]], heads: list[pl.DataFrame]) -> None:
        self._streams, self._heads = streams, heads
        self._ended = [False] * len(streams)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Up to the clock below which no stream can give any more, again and again."""
        while not all(self._ended):
            known_to_us = min(self._last_us(at) for at in range(len(self._heads)))
            cuts = [head[CLOCK].search_sorted(known_to_us, side="left") for head in self._heads]
            if any(cuts):
                yield _in_order([head[:cut] for head, cut in zip(self._heads, cuts, strict=True)])
            self._heads = [head[cut:] for head, cut in zip(self._heads, cuts, strict=True)]
            self._read_on(known_to_us)
        yield _in_order(self._heads)

    def _last_us(self, at: int) -> float:
        return math.inf if self._ended[at] else self._heads[at][CLOCK][-1]

    def _read_on(self, known_to_us: float) -> None:
        for at, stream in enumerate(self._streams):
            if self._last_us(at) == known_to_us:
                more = next(stream, None)
                self._ended[at] = more is None
                if more is not None:
                    self._heads[at] = pl.concat([self._heads[at], more])


def _in_order(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).sort(CLOCK, maintain_order=True)
