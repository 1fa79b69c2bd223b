"""A marker as JSON, layout 1: readable with any console consumer."""

from __future__ import annotations

from typing import Any

import orjson

from app.domain.errors import LayoutError
from app.domain.marker import Fates, InputPosition, Marker, ViewPosition

LAYOUT = 1


def encode_marker(marker: Marker) -> bytes:
    """The marker's bytes; equal markers give equal bytes."""
    return orjson.dumps({"layout": LAYOUT, "marker": marker}, option=orjson.OPT_SORT_KEYS)


def decode_marker(value: bytes) -> Marker:
    """Inverse of `encode_marker`; LayoutError for another layout."""
    document = orjson.loads(value)
    if document.get("layout") != LAYOUT:
        raise LayoutError(f"marker of layout {document.get('layout')}, this version reads {LAYOUT}")
    told: dict[str, Any] = document["marker"]
    return Marker(
        application=told["application"],
        source=told["source"],
        partition=told["partition"],
        sequence=told["sequence"],
        inputs={topic: InputPosition(**position) for topic, position in told["inputs"].items()},
        views={name: _view(position) for name, position in told["views"].items()},
        rules=tuple(told["rules"]),
    )


def _view(told: dict[str, Any]) -> ViewPosition:
    fates = {topic: Fates(**counts) for topic, counts in told.pop("fates").items()}
    return ViewPosition(fates=fates, **told)
