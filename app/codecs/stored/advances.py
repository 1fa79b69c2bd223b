"""Watermarks that tasks have raised without a record, as JSON (docs/formats.md)."""

from __future__ import annotations

import orjson

from app.domain.advance import Advance


def advance_bytes(advance: Advance) -> bytes:
    """What was done, as it is told."""
    return orjson.dumps(advance._asdict())


def read_advance(value: bytes | None) -> Advance | None:
    """What a task has told; None for what no task wrote, whatever bytes these are.

    Whoever recomputes passes that over: the watermark that a task stands at is in its ledger, so an advance that is
    missing or made up differs there.
    """
    try:
        told = orjson.loads(value or b"")
        advance = Advance(told["topic"], told["partition"], told["at_offset"], told["watermark_us"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    topic, *numbers = advance
    return advance if type(topic) is str and all(type(number) is int for number in numbers) else None
