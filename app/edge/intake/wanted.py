"""What a request wants to have written, and what it is told was: the same again whenever it comes again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson


class Keyed(NamedTuple):
    """A record as a topic takes it."""

    key: bytes | None
    value: bytes


class Wanted(NamedTuple):
    """Records of one request, in its order; a text is why one is refused. `key`: what its sender knows it by, None if
    it may be written as often as it comes; `digest`: of what was sent, as a key is for one request."""

    topic: str
    records: Sequence[Keyed | str]
    key: str | None
    digest: str

    @property
    def size(self) -> int:
        return sum(len(one.value) for one in self.records if isinstance(one, Keyed))

    @property
    def is_refused(self) -> bool:
        """Nothing of it is to be written."""
        return not any(isinstance(one, Keyed) for one in self.records)


class WrittenAt(NamedTuple):
    partition: int
    offset: int


class Reply(NamedTuple):
    """What became of a request's records, in its order: where each stands, or why it was refused."""

    digest: str
    outcomes: Sequence[WrittenAt | str]

    @property
    def is_refused(self) -> bool:
        """Nothing of it was written."""
        return not any(isinstance(one, WrittenAt) for one in self.outcomes)

    def as_json(self) -> bytes:
        """As `<app>.received` holds it (docs/formats.md)."""
        reasons = list(dict.fromkeys(one for one in self.outcomes if isinstance(one, str)))
        at = {reason: number for number, reason in enumerate(reasons)}
        outcomes = [at[one] if isinstance(one, str) else list(one) for one in self.outcomes]
        return orjson.dumps({"digest": self.digest, "outcomes": outcomes, "reasons": reasons})


def read_reply(text: bytes) -> Reply:
    """What `as_json` wrote."""
    held = orjson.loads(text)
    return Reply(held["digest"], [_outcome(one, held.get("reasons", ())) for one in held["outcomes"]])


def _outcome(held: Any, reasons: Sequence[str]) -> WrittenAt | str:
    """Each reason stood in its record's place, before it was told once."""
    if isinstance(held, list):
        return WrittenAt(*held)
    return reasons[held] if isinstance(held, int) else str(held)
