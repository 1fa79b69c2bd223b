"""The names of a query's parameters, and how one of them is read, whatever it means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from app.edge.http.problems import Problem, bad_parameter

LIMIT, CURSOR = "limit", "cursor"
COMMON = (LIMIT, CURSOR, "order", "partial")
WINDOWED, FOLDED = ("from", "to"), ("window", "step", "last")
ARRANGED = ("group_by", "top", "by", "among", "measures")
REPEATABLE = ("group_by", "measures")
FORMAT = "format"
MIN_POSITION, WAIT = "min_position", "wait"
MAX_STALENESS = "max_staleness"
PARTITION, STORED_FROM = "partition", "stored_from_us"
"""By which workers ask one another for their parts of an answer, and say which rows to leave out."""
NOT_OF_CHANGES = (CURSOR, "partial")
"""What a stream of changes does not take, which begins with the first rows, of all partitions."""
TO_THE_END = "to_the_end"
OF_ROWS = (FORMAT, MIN_POSITION, WAIT, MAX_STALENESS)
"""What rows take beside those that say which."""
RESERVED = frozenset({*COMMON, *WINDOWED, *FOLDED, *ARRANGED, *OF_ROWS, PARTITION, STORED_FROM, TO_THE_END})
"""No group of a view is called so."""


class Parameters(Protocol):
    """The part of aiohttp's multi-dict that is used here."""

    def getall(self, name: str, default: list[str], /) -> list[str]: ...
    def __iter__(self) -> Iterator[str]: ...


def one(parameters: Parameters, name: str) -> str | None:
    """What is given for the name, or None; a problem where it is given twice."""
    values = parameters.getall(name, [])
    if len(values) > 1 and name not in REPEATABLE:
        raise bad_parameter(name, ", ".join(values), "may be given once")
    return values[0] if values else None


def unknown(parameters: Parameters, name: str, there_is: str) -> Problem:
    """One that an address does not take; `there_is` tells what it takes."""
    return bad_parameter(name, ", ".join(parameters.getall(name, [])), f"unknown; {there_is}")


def choice(parameters: Parameters, name: str, allowed: tuple[str, ...]) -> str:
    """One of the allowed words; the first where none is given."""
    text = one(parameters, name)
    if text is not None and text not in allowed:
        raise bad_parameter(name, text, f"one of {', '.join(allowed)}")
    return text or allowed[0]


def chosen(parameters: Parameters, name: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the allowed words that are given, each once, in the order in which they are allowed."""
    given = parameters.getall(name, [])
    for text in given:
        if text not in allowed:
            raise bad_parameter(name, text, f"one of {', '.join(allowed)}")
    return tuple(word for word in allowed if word in given)


def whole_number(parameters: Parameters, name: str, most: int) -> int | None:
    """A whole number from 1 to `most`, or None where none is given."""
    text = one(parameters, name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= most):
        raise bad_parameter(name, text, f"1 to {most}")
    return int(text)
