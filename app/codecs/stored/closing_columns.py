"""Records of the closing stage by column; what the bytes are is said by `app.codecs.stored.closings`, one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.blobs import Blobs
from app.codecs.compiled import READABLE, compiled
from app.codecs.stored.changelog import LAYOUT
from app.codecs.stored.closings import (
    GROUP_AT,
    OPEN_VALUE_BYTES,
    START_AT,
    TASK_BYTES,
    decode_open,
    open_head,
    read_open_key,
)
from app.codecs.weaving import copied, same, woven
from app.domain.view import View

_KIND_AT = 1
_POLYNOMIAL, _ALL = 0xEDB88320, 0xFFFF_FFFF


def of_kind(row_keys: Blobs, kind: int) -> Blobs:
    """A copy of keys of rows as keys of another kind."""
    keys = copied(row_keys)
    keys.data[keys.starts + _KIND_AT] = kind
    return keys


def partitions_of(view: View, row_keys: Blobs, count: int) -> Int64s:
    """Which of the closing topic's partitions takes each row, as `partition_of` says for one."""
    skipped = (START_AT, GROUP_AT) if view.window.merges else (0, 0)
    checksums: Int64s = _checksums(row_keys.data, row_keys.starts, row_keys.lengths, *skipped)
    return checksums % count


class OpenKeys(NamedTuple):
    """Which rows were open in which tasks; `groups` are the rows', as keys hold them."""

    groups: Blobs
    starts_us: Int64s
    tasks: Int64s


def open_keys_of(view: View, named: OpenKeys) -> Blobs:
    """Keys by which tasks tell that rows are open."""
    starts = Blobs.of_rows(np.ascontiguousarray(named.starts_us, ">i8").view(np.uint8).reshape(-1, GROUP_AT - START_AT))
    tasks = Blobs.of_rows(np.ascontiguousarray(named.tasks, ">u2").view(np.uint8).reshape(-1, TASK_BYTES))
    return woven([same(open_head(view), len(starts)), starts, named.groups, tasks])


def read_open_keys(keys: Blobs) -> OpenKeys:
    """The inverse of `open_keys_of`. LayoutError if one is too short."""
    for short in keys.at(keys.lengths < GROUP_AT + TASK_BYTES):
        read_open_key(short or b"")
    groups = Blobs(keys.data, keys.starts + GROUP_AT, keys.lengths - GROUP_AT - TASK_BYTES)
    tasks = _numbers(keys, keys.starts + keys.lengths - TASK_BYTES, ">u2")
    return OpenKeys(groups, _numbers(keys, keys.starts + START_AT, ">i8"), tasks)


def decode_opens(values: Blobs) -> Int64s:
    """For which `closed_to_us` each row was told; LayoutError if one is of another layout."""
    for odd in values.at(values.lengths != OPEN_VALUE_BYTES):
        decode_open(odd or b"")
    for odd in values.at(_numbers(values, values.starts, "u1") != LAYOUT):
        decode_open(odd or b"")
    return _numbers(values, values.starts + 1, "<i8")


def _numbers(strings: Blobs, at: Int64s, kind: str) -> Int64s:
    width = np.dtype(kind).itemsize
    octets = Blobs(strings.data, at, np.full(len(at), width)).matrix(width)
    return octets.view(kind).reshape(-1).astype(np.int64)


def _table() -> Int64s:
    rests = np.arange(256)
    for _ in range(8):
        rests = rests >> 1 ^ _POLYNOMIAL * (rests & 1)
    return rests


_RESTS = _table()


@compiled(f"int64[::1]({READABLE}, int64[:], int64[:], int64, int64)")
def _checksums(data: Any, starts: Any, lengths: Any, skip_from: Any, skip_to: Any) -> Any:
    """CRC-32 of each string without the bytes from `skip_from` to before `skip_to`."""
    told = np.empty(len(starts), np.int64)
    for row in range(len(starts)):
        rest = np.int64(_ALL)
        for at in range(lengths[row]):
            if at < skip_from or at >= skip_to:
                rest = _RESTS[(rest ^ np.int64(data[starts[row] + at])) & 255] ^ rest >> 8
        told[row] = rest ^ _ALL
    return told
