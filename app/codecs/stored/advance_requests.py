"""Requests to raise watermarks, as JSON (docs/formats.md)."""

from __future__ import annotations

import orjson

from app.domain.advance import AdvanceRequest

MOST_BYTES = 4_096
"""Of a request; the name of a topic has 249 at most."""


def encode_request(request: AdvanceRequest) -> bytes:
    """The request as it is sent."""
    return orjson.dumps(request._asdict())


def decode_request(value: bytes | None) -> AdvanceRequest | None:
    """The request, None if it is none: whatever bytes these are."""
    if value is None or len(value) > MOST_BYTES:
        return None
    try:
        told = orjson.loads(value)
        request = AdvanceRequest(
            told["topic"], told["partition"], told["watermark_us"], told.get("not_before_offset", 0)
        )
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    topic, *numbers = request
    return request if type(topic) is str and all(type(number) is int for number in numbers) else None
