"""The keys that a question can mean, if they are few: then its rows are looked up instead of searched for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.view import View

MOST_KEYS = 4096
"""So many are looked up in about 1 ms; a search of a million rows takes 10 to 20."""


def window_starts(view: View, from_us: int, until_us: int) -> Int64s | None:
    """Starts of the stored windows that begin in `[from_us, until_us)`; None if they are many, or anywhere."""
    starts = view.window.starts(from_us, until_us, MOST_KEYS)
    if isinstance(starts, range):
        return np.arange(starts.start, starts.stop, starts.step, dtype=np.int64)
    return None if starts is None else np.array(starts, np.int64)


def keys_of(columns: Sequence[Int64s]) -> Int64s | None:
    """Every key made of one value of each column, as a (keys, columns) array; None if they are many.

    No column names a value twice.
    """
    count = prod(len(column) for column in columns)
    if not columns or count > MOST_KEYS:
        return None
    keys, each = np.empty((count, len(columns)), np.int64), count
    for at, column in enumerate(columns):  # the last varies fastest
        each //= len(column) or 1
        keys[:, at] = column if len(column) in (1, count) else np.resize(np.repeat(column, each), count)
    return keys
