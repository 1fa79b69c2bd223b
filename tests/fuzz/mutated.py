"""Good input, made bad: bytes with forged lengths and cuts, documents with values of another kind."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

ODD_NUMBERS = (0, -1, 1, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63))
ODD_VALUES = (
    None,
    True,
    False,
    *ODD_NUMBERS,
    10**30,
    0.5,
    math.inf,
    math.nan,
    "",
    "\0",
    "\ud800",
    "é" * 300,
    "[/x]",
    "\x1b[2J",
    [],
    {},
    [[]],
)
DEEP = 2_000


def zigzag(number: int) -> bytes:
    """An Avro long, of any size."""
    left, out = (number << 1) ^ (-1 if number < 0 else 0), bytearray()
    left &= (1 << 70) - 1
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*out, left))


def mutated_bytes(rng: random.Random, value: bytes, others: list[bytes]) -> bytes:
    """One to three changes; `others` to cut from."""
    held = bytearray(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(held) + 1)
        rng.choice(CHANGES)(rng, held, at, others)
    return bytes(held)


def _flip(rng: random.Random, held: bytearray, at: int, _: list[bytes]) -> None:
    if at < len(held):
        held[at] ^= 1 << rng.randrange(8)


def _replace(rng: random.Random, held: bytearray, at: int, _: list[bytes]) -> None:
    if at < len(held):
        held[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _cut(_: random.Random, held: bytearray, at: int, __: list[bytes]) -> None:
    del held[at:]


def _lose(rng: random.Random, held: bytearray, at: int, _: list[bytes]) -> None:
    del held[at : at + rng.randint(1, 12)]


def _add(rng: random.Random, held: bytearray, at: int, _: list[bytes]) -> None:
    held[at:at] = rng.randbytes(rng.randint(1, 12))


def _forge(rng: random.Random, held: bytearray, at: int, _: list[bytes]) -> None:
    """A number where another stood: a length, a branch, a count of items."""
    number = zigzag(rng.choice(ODD_NUMBERS) * rng.choice((1, -1)) + rng.randint(-1, 1))
    held[at : at + rng.choice((0, 1, len(number)))] = number


def _repeat(rng: random.Random, held: bytearray, at: int, _: list[bytes]) -> None:
    held[at:at] = held[at : at + rng.randint(1, 40)] * rng.randint(1, 4)


def _splice(rng: random.Random, held: bytearray, at: int, others: list[bytes]) -> None:
    other = rng.choice(others)
    held[at:] = other[rng.randrange(len(other) + 1) :]


def _lead(rng: random.Random, held: bytearray, _: int, __: list[bytes]) -> None:
    held[:5] = rng.choice((b"", b"\0", bytes(5), b"\1" + bytes(4), b"\0\xff\xff\xff\xff", b"\0" + rng.randbytes(4)))


CHANGES: tuple[Callable[[random.Random, bytearray, int, list[bytes]], None], ...] = (
    _flip,
    _replace,
    _cut,
    _lose,
    _add,
    _forge,
    _repeat,
    _splice,
    _lead,
)


def mutated_document(rng: random.Random, document: Any) -> Any:
    """The document with one part changed, left out, doubled or of another kind."""
    if rng.random() < 0.1 or not isinstance(document, dict | list) or not document:
        return _other(rng, document)
    if isinstance(document, list):
        changed = list(document)
        at = rng.randrange(len(changed))
        if rng.random() < 0.2:
            changed[at : at + 1] = rng.choice(([], [changed[at]] * 2))
        else:
            changed[at] = mutated_document(rng, changed[at])
        return changed
    name = rng.choice(sorted(document))
    if rng.random() < 0.15:
        return {key: value for key, value in document.items() if key != name}
    if rng.random() < 0.1:
        return document | {rng.choice(("", "x", "type", "name", "__proto__")): _other(rng, None)}
    return document | {name: mutated_document(rng, document[name])}


def _other(rng: random.Random, value: Any) -> Any:
    if rng.random() < 0.02:
        return deep(value)
    if isinstance(value, int) and rng.random() < 0.3:
        return value + rng.choice((1, -1, 10**6, 10**15))
    return rng.choice(ODD_VALUES)


def deep(value: Any) -> Any:
    """The value in lists of lists of lists."""
    for _ in range(DEEP):
        value = [value]
    return value


def as_text(document: Any) -> str:
    """JSON, with numbers that JSON does not have too; nesting that Python would not write is written by hand."""
    try:
        return json.dumps(document)
    except RecursionError:
        return "[" * DEEP + "]" * DEEP
