"""Records of the closing topic, and of the changelog that restores what is made of them (docs/formats.md). Layout 1.

    row    key   01 05 | as a row's key in the changelog      value as a row's
    mark   key   01 06 | view u16 | version 4 bytes | task u16
           value JSON {"closed_to_us": …, "next_offsets": {topic: offset}}
    final  key   01 08 | as a row's key in the changelog      in the closing topic: JSON {"old", "new"}, a task's row
                                                              before and after a correction, null for none; in the
                                                              changelog: a row's value with one more cell, the
                                                              revision in which the final was published
    open   key   01 0a | as a row's key in the changelog | task u16
           value 01 | closed_to_us i64 little-endian

A mark says that its task sent every row whose window ends at or before `closed_to_us`, and what the task had read. Of
a view whose rows merge it says, too, that the task told of every row that had begun by then and not ended, with just
this `closed_to_us`.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

import orjson

from app.codecs.stored.changelog import CLOSED_ROW, LAYOUT, MARK, OPEN_ROW, REVISION, ROW_HEAD
from app.codecs.stored.row_keys import row_prefix
from app.domain.errors import LayoutError
from app.domain.rows import Cells
from app.domain.view import View

_MARK_KEY = struct.Struct(">BBH4sH")
_START, _TASK, _OPEN_VALUE = struct.Struct(">q"), struct.Struct(">H"), struct.Struct("<Bq")
START_AT = ROW_HEAD.size + 1
"""Where in a row's key, and in what is made of it, its window's start is, of a view whose windows end."""
GROUP_AT, TASK_BYTES = START_AT + _START.size, _TASK.size
OPEN_VALUE_BYTES = _OPEN_VALUE.size


class Mark(NamedTuple):
    """How far a task has closed a view: windows that end at or before `closed_to_us`, at these offsets."""

    closed_to_us: int
    next_offsets: dict[str, int]


def as_closed_row_key(row_key: bytes) -> bytes:
    """The changelog key of a row as the key it has on its way through the closing stage."""
    return bytes((LAYOUT, CLOSED_ROW)) + row_key[2:]


def closed_row_prefix(view: View) -> bytes:
    """What the keys of all rows of a view's version begin with that are on their way through the closing stage."""
    return as_closed_row_key(row_prefix(view))


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


class OpenKey(NamedTuple):
    """Which row was open in which task; `group` is the row's, as keys hold it."""

    group: bytes
    start_us: int
    task: int


def group_in(row_key: bytes) -> bytes:
    """The group in a row's key, as it stands there, of a view whose windows end."""
    return row_key[GROUP_AT:]


def partition_of(view: View, row_key: bytes, count: int) -> int:
    """Which of the closing topic's partitions takes the row. All of a group go to one where rows of several windows may
    become one."""
    place = row_key[:START_AT] + group_in(row_key) if view.window.merges else row_key
    return zlib.crc32(place) % count


def open_head(view: View) -> bytes:
    """What the keys of all open rows of a view's version begin with."""
    return bytes((LAYOUT, OPEN_ROW)) + row_prefix(view)[2:]


def read_open_key(key: bytes) -> OpenKey:
    """LayoutError if it is too short."""
    if len(key) < GROUP_AT + TASK_BYTES:
        raise LayoutError(f"key {key.hex()} of an open row ends too soon")
    (start_us,), (task,) = _START.unpack_from(key, START_AT), _TASK.unpack_from(key, len(key) - TASK_BYTES)
    return OpenKey(key[GROUP_AT:-TASK_BYTES], start_us, task)


def encode_open(closed_to_us: int) -> bytes:
    return _OPEN_VALUE.pack(LAYOUT, closed_to_us)


def decode_open(value: bytes) -> int:
    """For which `closed_to_us` the row was told; LayoutError if it is of another layout."""
    if len(value) != _OPEN_VALUE.size or value[0] != LAYOUT:
        raise LayoutError(f"open row's value {value.hex()} is not of layout {LAYOUT}")
    return int(_OPEN_VALUE.unpack(value)[1])
