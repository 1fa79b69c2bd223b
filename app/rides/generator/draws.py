"""Random numbers by counter: each is a pure function of seed, ride number and the name of the draw.

No state and no order of drawing, so any block of rides is the same whatever block it is made in. Integers
only: no rounding of a platform's logarithm can change a ride.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.rides.ride_id import UInt64s, hash_text, mix64

Bools = npt.NDArray[np.bool_]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Draws:
    """The draws of a block of rides; `numbers` are their ride numbers."""

    def __init__(self, seed: int, numbers: Int64s) -> None:
        """`seed`: any 64-bit whole number, signed or not."""
        start = mix64(np.array([seed % 2**64], dtype=np.uint64))
        self._states = mix64(numbers.view(np.uint64) * _GOLDEN + start)

    def words(self, name: str) -> UInt64s:
        """64 random bits per ride."""
        return mix64(self._states + np.uint64(hash_text(name)))

    def half_words(self, name: str) -> Int64s:
        """A whole number from 0 up to 2**32, exclusive, per ride."""
        return (self.words(name) >> np.uint64(32)).view(np.int64)

    def below(self, name: str, limit: int) -> Int64s:
        """A whole number from 0 up to `limit` (at most 2**31), exclusive, per ride."""
        return (self.half_words(name) * limit) >> 32

    def happens(self, name: str, rate: float) -> Bools:
        """True for a share `rate` of the rides."""
        return self.half_words(name) < int(rate * 2**32)

    def spread(self, name: str, quantiles: Sequence[int]) -> Int64s:
        """A whole number per ride, spread as `quantiles` say: equally spaced, lowest to highest."""
        table = np.array(quantiles, dtype=np.int64)
        place = self.half_words(name) * (len(table) - 1)
        left = place >> 32
        part = (place & 0xFFFFFFFF) >> 16
        spread: Int64s = table[left] + (((table[left + 1] - table[left]) * part) >> 16)
        return spread


class Choice:
    """Weighted choice: of column indexes, with the weights of a row chosen per ride.

    `weights`: whole numbers, rows by columns; every row needs one above zero, and a sum below 2**31.
    """

    def __init__(self, weights: Int64s) -> None:
        upto = weights.cumsum(axis=1)
        if not (upto[:, -1] > 0).all():
            raise ValueError(f"rows without any weight: {np.flatnonzero(upto[:, -1] <= 0).tolist()}")
        self._columns = weights.shape[1]
        rows = np.arange(len(weights), dtype=np.int64)[:, None] << 32
        self._upto = (rows + (upto << 32) // upto[:, -1:]).ravel()

    def pick(self, rows: Int64s, half_words: Int64s) -> Int64s:
        """A column index per ride, given its row and 32 random bits (`Draws.half_words`)."""
        found: Int64s = self._upto.searchsorted((rows << 32) + half_words, side="right")
        found -= rows * self._columns
        return found
