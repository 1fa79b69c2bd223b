"""Arrays that grow in place: the system moves pages, not bytes, and no second copy of a large one is ever held."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = TypeVar("Array", bound=npt.NDArray[Any])

_GROWTH = 1.25
_LEAST = 16


def with_room(held: Array, length: int, fill: int = 0) -> Array:
    """The array with room for so many along its first axis, what is new filled. No view of it may be used again."""
    before = len(held)
    if length > before:
        held.resize((max(length, int(before * _GROWTH), _LEAST), *held.shape[1:]), refcheck=False)
        if fill:
            held[before:] = np.asarray(fill, held.dtype)
    return held
