"""Which names groups, measures and figures may have: they are fields and columns, beside those that every row has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.domain.source import AVRO_NAME

LONGEST = 100
OURS = frozenset(
    {
        *("view", "version", "revision", "cells", "positions"),  # of finals
        *("window_start_us", "window_end_us", "window_day"),
        *("window", "window_start", "window_end", "is_closed", "is_corrected"),
        *("rank", "fingerprint", "state", "final", "source"),
        *("group", "measures", "figures"),
    }
)
"""What rows, finals and tables have beside them; a measure may be called `count`, for it is the row's own."""


def name_problems(groups: Sequence[str], shown: Sequence[str]) -> Iterable[str]:
    """What is wrong with the names of groups, and of measures and figures as they are shown."""
    for name in dict.fromkeys((*groups, *shown)):
        if not AVRO_NAME.fullmatch(name) or len(name) > LONGEST:
            yield f"the name {name[:LONGEST]!r}: letters, digits and '_', no digit first, {LONGEST} at most"
        elif name.lower() in OURS or (name.lower() == "count" and name in groups):
            yield f"the name {name!r} is that of something else in rows, finals or tables: choose another one"
