"""Blocks: count and fingerprint of what each view applied of 65,536 offsets."""

from __future__ import annotations

from collections.abc import Iterator

from app.codecs.stored.changelog import BLOCK, decode_block, kind_of
from app.rides.views import VIEWS
from tests.drills.world.evidence import Evidence
from tests.drills.world.expected import not_equal


def differences(evidence: Evidence) -> Iterator[str]:
    found: dict[tuple[int, str], dict[tuple[int, int, int], tuple[int, int]]] = {}
    for partition, latest in evidence.observed.latest.items():
        for key, value in latest.items():
            if kind_of(key) == BLOCK:
                block, count, fingerprint = decode_block(key, value)
                of_view = found.setdefault((block.view_number, block.version), {})
                of_view[partition, block.topic_number, block.block] = count, fingerprint
    for view in VIEWS:
        there = found.get((view.number, view.version), {})
        yield from not_equal(f"blocks of {view.name}", evidence.expected.blocks(view), there)
