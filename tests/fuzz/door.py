"""What a door is, and how many inputs are put through it."""

from __future__ import annotations

import faulthandler
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from app.codecs.narrowing import failing

STALLED_SECONDS = 120
"""For some hundred inputs: what takes so long would hold a worker. The process is ended, its stack shown."""
AT_ONCE = 500
FOUND_SHOWN = 10


class Differs(AssertionError):
    """Two that read the same input do not agree about it."""


@dataclass(frozen=True)
class Door:
    """`draw` makes an input; `admit` gives the fate of each of several, in a word, and raises nothing."""

    name: str
    share: float
    """Of all inputs."""
    draw: Callable[[random.Random], Any]
    admit: Callable[[Sequence[Any]], Sequence[str]]


@dataclass(frozen=True)
class Found:
    error: str
    given: str


@dataclass
class Tried:
    """What came of a door's inputs."""

    inputs: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    slowest_seconds: float = 0.0
    """Of AT_ONCE inputs."""
    seconds: float = 0.0


def one_by_one(admit: Callable[[Any], str]) -> Callable[[Sequence[Any]], Sequence[str]]:
    """For a door that takes one input at a time."""
    return lambda some: [admit(one) for one in some]


def try_door(door: Door, rng: random.Random, inputs: int, tell: Callable[[int], None] = lambda _: None) -> Tried:
    """Put inputs through a door; what raises is found, narrowed to its input, and the rest goes on."""
    tried, began = Tried(), perf_counter()
    while tried.inputs < inputs:
        some = [door.draw(rng) for _ in range(min(AT_ONCE, inputs - tried.inputs))]
        _try(door, some, tried)
        tell(len(some))
    tried.seconds = round(perf_counter() - began, 1)
    return tried


def _try(door: Door, some: Sequence[Any], tried: Tried) -> None:
    tried.inputs += len(some)
    faulthandler.dump_traceback_later(STALLED_SECONDS, exit=True)
    began = perf_counter()
    try:
        tried.fates.update(door.admit(some))
    except Exception as error:
        alone = failing(door.admit, some) or {-1: error}
        tried.found += [Found(_said(why), _told(some[at]) if at >= 0 else "some together") for at, why in alone.items()]
    finally:
        faulthandler.cancel_dump_traceback_later()
    tried.slowest_seconds = max(tried.slowest_seconds, round(perf_counter() - began, 3))


def _told(given: Any) -> str:
    try:
        text = given.hex() if isinstance(given, bytes) else repr(given)
    except RecursionError:
        text = "something deep"
    return text if len(text) <= 2_000 else f"{text[:2_000]}… ({len(text)} letters)"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
