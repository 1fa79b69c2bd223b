"""What a worker and the process of a statement say to each other: a head as JSON, and bytes that belong to it."""

from __future__ import annotations

import asyncio
import struct
from typing import Any, BinaryIO, NamedTuple

import orjson

_LENGTHS = struct.Struct(">IQ")


class Frame(NamedTuple):
    """One of them."""

    head: dict[str, Any]
    body: bytes = b""


def encoded(frame: Frame) -> bytes:
    """As it is written."""
    head = orjson.dumps(frame.head)
    return _LENGTHS.pack(len(head), len(frame.body)) + head + frame.body


def read(stream: BinaryIO) -> Frame:
    """The next one; EOFError where there is none, or only a part of one."""
    head, body = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    return Frame(orjson.loads(_exactly(stream, head)), _exactly(stream, body))


async def receive(stream: asyncio.StreamReader) -> Frame:
    """The same on an event loop. asyncio.IncompleteReadError, an EOFError, at the end."""
    head, body = _LENGTHS.unpack(await stream.readexactly(_LENGTHS.size))
    return Frame(orjson.loads(await stream.readexactly(head)), await stream.readexactly(body))


def _exactly(stream: BinaryIO, size: int) -> bytes:
    held = stream.read(size)
    if len(held) < size:
        raise EOFError
    return held
