"""Loops over arrays as machine code: compiled when their module is imported, kept on disk for the next process.

Whoever imports a module of compiled loops loads numba (0.3 s); the domain, the command line and Spark's executors never
do. Decisions: docs/decisions/0007-values-are-read-by-a-compiled-walker.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba
import numpy.ma  # noqa: F401  (numba loads it, for 20 to 50 ms, when it first sees an array: better now)

Given = ParamSpec("Given")
Result = TypeVar("Result")

READABLE = "Array(uint8, 1, 'C', True)"
"""Bytes that are not written to, as signatures name them: a view of `bytes` is one."""


def compiled(*signatures: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Compiles a function for these signatures (numba's words) now, not in the middle of a batch.

    The machine code is kept beside the source, or in the user's cache directory, or where NUMBA_CACHE_DIR says; where
    none of them can be written it is compiled in every process. Called functions belong into the same module:
    numba notices a change in the file of the function only.
    """

    def compile_now(function: Callable[Given, Result]) -> Callable[Given, Result]:
        try:
            return _compiled(function, list(signatures), keep=True)
        except (RuntimeError, OSError):  # no place that can be written, or no room in it
            return _compiled(function, list(signatures), keep=False)

    return compile_now


def _compiled(function: Callable[Given, Result], signatures: list[str], *, keep: bool) -> Callable[Given, Result]:
    decorate: Any = numba.njit(signatures, cache=keep, nogil=True, error_model="numpy")
    machine_code: Callable[Given, Result] = decorate(function)
    return machine_code


def inlined(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """For small functions of numbers that compiled ones call: as fast as if they stood there.

    Not for arrays: to hand one on costs two atomic counts of references, which is more than most of our loops do.
    """
    decorate: Any = numba.njit(inline="always", error_model="numpy")
    in_place: Callable[Given, Result] = decorate(function)
    return in_place
