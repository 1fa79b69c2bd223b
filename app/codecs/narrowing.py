"""Which of many values something fails at, found by halving them (rule 29)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Narrowed = TypeVar("Narrowed")


def failing(attempt: Callable[[Sequence[Narrowed]], object], values: Sequence[Narrowed]) -> dict[int, Exception]:
    """The values, by place, at which the attempt fails on their own too, and how; none if only some together do.

    One among n costs 2 log2(n) attempts at fewer and fewer, all of them 2n. MemoryError is raised: it is no value's.
    """
    found, left = dict[int, Exception](), [(0, len(values))]
    while left:
        begin, end = left.pop()
        try:
            attempt(values[begin:end])
        except MemoryError:
            raise
        except Exception as error:
            if end - begin == 1:
                found[begin] = error
            elif end - begin > 1:
                middle = (begin + end) // 2
                left += [(begin, middle), (middle, end)]
    return found
