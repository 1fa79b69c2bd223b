"""Cursors of results: below which offset of each partition the next page goes on."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.domain.fingerprint import MAX_OFFSET, MAX_PARTITION
from app.edge.http.problems import Problem


class ResultCursor(BaseModel):
    """Of one topic."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: Literal[1] = 1
    topic: str
    ends: dict[Annotated[int, Field(ge=0, le=MAX_PARTITION)], Annotated[int, Field(ge=0, le=MAX_OFFSET)]]


def encode(topic: str, ends: Mapping[int, int]) -> str:
    """As a client sees it."""
    return urlsafe_b64encode(ResultCursor(topic=topic, ends=dict(ends)).model_dump_json().encode()).decode().rstrip("=")


def decode(topic: str, text: str, stable: Mapping[int, int]) -> Mapping[int, int]:
    """Where to go on; `stable`: where each partition that is asked for ends now. A problem if it is another topic's, or
    of other partitions."""
    try:
        cursor = ResultCursor.model_validate_json(urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        raise Problem("bad-cursor", "This is no cursor of results; take meta.next_cursor of the page before.") from None
    if cursor.topic != topic or cursor.ends.keys() != stable.keys() or any(cursor.ends[p] > stable[p] for p in stable):
        raise Problem("bad-cursor", "It was made for another topic, or other partitions; start again without a cursor.")
    return cursor.ends
