"""The two ledgers of a view as bars: what became of every offset of a topic below the cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

KINDS = {
    "applied": "in the view's rows",
    "late": "late: the window had closed",
    "out_of_scope": "out of scope: the view does not count such records",
    "before": "from before the view was added",
    "quarantined": "quarantined: unusable",
    "not_records": "no record: marks of transactions, and what was compacted away",
}
"""What an offset may have become, as Spark counts it, in the order of a bar's segments."""
LENGTH = 1_000
"""Of a bar."""
LEAST = 3.0
"""Of a segment: a few among millions are to be seen, too."""


class Segment(NamedTuple):
    kind: str
    offsets: int
    x: float
    width: float


class LedgerBar(NamedTuple):
    """One topic, all its partitions together."""

    topic: str
    offsets: int
    segments: Sequence[Segment]
    differs: bool


def ledger_bars(ledger: Sequence[Mapping[str, Any]]) -> list[LedgerBar]:
    """Of each topic of records in a view's ledger."""
    topics = dict.fromkeys(entry["topic"] for entry in ledger if entry["name"] == "decoded")
    return [_bar(topic, [entry for entry in ledger if entry["topic"] == topic]) for topic in topics]


def _bar(topic: str, entries: Sequence[Mapping[str, Any]]) -> LedgerBar:
    counts = Counter[str]()
    for entry in entries:
        counts[entry["name"]] += entry["recomputed"]
    counts["before"] = counts["decoded"] - counts["applied"] - counts["late"] - counts["out_of_scope"]
    offsets = sum(counts[kind] for kind in KINDS)
    widths = {kind: max(LEAST, LENGTH * counts[kind] / offsets) for kind in KINDS if counts[kind]}
    scale, x = LENGTH / (sum(widths.values()) or LENGTH), 0.0
    segments = []
    for kind, width in widths.items():
        segments.append(Segment(kind, counts[kind], round(x, 2), round(width * scale, 2)))
        x += width * scale
    return LedgerBar(topic, offsets, segments, any(entry["differs"] for entry in entries))
