"""What somebody may have meant who wrote a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to append to a message, such as `; did you mean 'fare_cents'?`; nothing if no name is near."""
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
