"""Records of the closing topic, and of the changelog that restores what is made of them (docs/formats.md). Layout 1.

    row    key   01 05 | as a row's key in the changelog      value as a row's
    mark   key   01 06 | view u16 | version 4 bytes | task u16
           value JSON {"closed_to_us": …, "next_offsets": {topic: offset}}
    final  key   01 08 | as a row's key in the changelog      in the closing topic: JSON {"old", "new"}, a task's row
                                                              before and after a correction, null for none; in the
                                                              changelog: a row's value with one more cell, the
                                                              revision in which the final was published

A mark says that its task sent every row whose window ends at or before `closed_to_us`, and what the task had read.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import orjson

from app.codecs.stored.changelog import CLOSED_ROW, LAYOUT, MARK, REVISION, ROW_HEAD
from app.domain.errors import LayoutError
from app.domain.rows import Cells
from app.domain.view import View

_MARK_KEY = struct.Struct(">BBH4sH")


class Mark(NamedTuple):
    """How far a task has closed a view: windows that end at or before `closed_to_us`, at these offsets."""

    closed_to_us: int
    next_offsets: dict[str, int]


def as_closed_row_key(row_key: bytes) -> bytes:
    """The changelog key of a row as the key it has on its way through the closing stage."""
    return bytes((LAYOUT, CLOSED_ROW)) + row_key[2:]


def as_final_key(row_key: bytes) -> bytes:
    """The changelog key of a row as the key of its final, and of a change to it."""
    return bytes((LAYOUT, REVISION)) + row_key[2:]


class Replaced(NamedTuple):
    """A task's row of a closed window before and after a correction; None for no row."""

    old: Cells | None
    new: Cells | None


def encode_replaced(replaced: Replaced) -> bytes:
    return orjson.dumps(replaced._asdict())


def decode_replaced(value: bytes) -> Replaced:
    """LayoutError if it is none."""
    try:
        told = orjson.loads(value)
        return Replaced(*(None if told[side] is None else tuple(told[side]) for side in ("old", "new")))
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise LayoutError(f"no change of a closed row: {value[:200]!r}") from error


def mark_key(view: View, task: int) -> bytes:
    return _MARK_KEY.pack(LAYOUT, MARK, view.number, bytes.fromhex(view.version), task)


def mark_head(view: View) -> bytes:
    """What the keys of all marks of a view's version begin with."""
    return ROW_HEAD.pack(LAYOUT, MARK, view.number, bytes.fromhex(view.version))


def task_of(key: bytes) -> int:
    """The task that a mark's key names."""
    return int(_MARK_KEY.unpack(key)[-1])


def encode_mark(mark: Mark) -> bytes:
    return orjson.dumps(mark._asdict(), option=orjson.OPT_SORT_KEYS)


def decode_mark(value: bytes) -> Mark:
    return Mark(**orjson.loads(value))
