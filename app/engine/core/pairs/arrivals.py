"""Usable records as the halves of a join or alert that they are: selected, named, with a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from app.domain.pairs.half import Half
from app.domain.pairs.joined import Side
from app.domain.pairs.pairing import Pairing
from app.domain.records import Value
from app.engine.core.records.usable import Usable


class Arrival(NamedTuple):
    """A record at its place in the batch; `half` is None where it is out of scope. The watermark includes it."""

    at: int
    watermark_us: int
    half: Arrived | None


class Arrived(NamedTuple):
    side: Side
    id: Value
    at_us: int
    columns: dict[str, Value]


def arrivals(of: Pairing, topic: str, usable: Usable) -> Iterator[Arrival]:
    """Every usable record of a topic, in offset order."""
    halves: list[Arrived | None] = [None] * len(usable)
    for side in Side:
        half = of.half(side)
        if half.topic != topic:
            continue
        places = np.flatnonzero(_taken(half, usable.frame))
        frame = usable.frame if len(places) == len(usable) else usable.frame[places]
        needed = of.needed(side)
        columns = frame.select(needed).rows(named=True) if needed else [{} for _ in places]
        told = (places.tolist(), frame[half.id].to_list(), frame[half.at].to_list(), columns)
        for at, name, at_us, values in zip(*told, strict=True):
            halves[at] = Arrived(side, name, at_us, values)
    yield from map(Arrival, usable.index.tolist(), usable.watermarks_us.tolist(), halves)


def _taken(half: Half, frame: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Which records are meant, as `Half.takes`."""
    known = frame[half.id].is_not_null() & frame[half.at].is_not_null()
    if half.only is not None:
        known &= frame[half.only.column].is_in(list(half.only.values)).fill_null(False)
    return known.to_numpy()
