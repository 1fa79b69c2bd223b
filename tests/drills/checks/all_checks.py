"""Every comparison that follows a drill. Results of a new kind get a module here, and a line below."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.drills.checks import acked, advances, blocks, finals, markers, refused, rows
from tests.drills.world.evidence import Evidence

CHECKS: dict[str, Callable[[Evidence], Iterator[str]]] = {
    "finals": finals.differences,  # first, as it waits for them: whatever is read then is read of tasks at rest
    "acked": acked.differences,
    "rows": rows.differences,
    "markers": markers.differences,
    "blocks": blocks.differences,
    "refused": refused.differences,
    "advances": advances.differences,
}


def all_differences(evidence: Evidence) -> list[str]:
    """What differs, in words; empty where everything is exact."""
    return [f"{name}: {text}" for name, check in CHECKS.items() for text in check(evidence)]
