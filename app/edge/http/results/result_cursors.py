"""Cursors of results: below which offset of each partition the next page goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.domain.fingerprint import MAX_OFFSET, MAX_PARTITION
from app.edge.http.problems import Problem
from app.edge.http.query.seal import Seal


class ResultCursor(BaseModel):
    """Of one topic."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: Literal[1] = 1
    topic: str
    ends: dict[Annotated[int, Field(ge=0, le=MAX_PARTITION)], Annotated[int, Field(ge=0, le=MAX_OFFSET)]]


def encode(seal: Seal, topic: str, ends: Mapping[int, int]) -> str:
    """As a client sees it."""
    return seal.sealed(ResultCursor(topic=topic, ends=dict(ends)).model_dump_json().encode())


def decode(seal: Seal, topic: str, text: str, stable: Mapping[int, int]) -> Mapping[int, int]:
    """Where to go on; `stable`: where each partition that is asked for ends now. A problem if no worker gave it, or if
    it is another topic's, or of other partitions."""
    opened = seal.opened(text)
    try:
        cursor = ResultCursor.model_validate_json(opened)
    except ValueError:
        raise Problem("bad-cursor", "This is no cursor of results; take meta.next_cursor of the page before.") from None
    if cursor.topic != topic or cursor.ends.keys() != stable.keys() or any(cursor.ends[p] > stable[p] for p in stable):
        raise Problem("bad-cursor", "It was made for another topic, or other partitions; start again without a cursor.")
    return cursor.ends
