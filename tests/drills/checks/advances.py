"""Advances: what was asked for at the end was done once for each topic-partition, behind its last record."""

from __future__ import annotations

import json
from collections.abc import Iterator

from app.base import names
from tests.drills.world.evidence import Evidence
from tests.drills.world.expected import not_equal


def differences(evidence: Evidence) -> Iterator[str]:
    told = [json.loads(m.value()) for m in evidence.observed.messages(names.advances_topic(evidence.settings.app_id))]
    found = {(one["topic"], one["partition"]): (one["at_offset"], one["watermark_us"]) for one in told}
    yield from not_equal("advances", {tuple(place): at for place, at in evidence.closing.items()}, found)
    if len(told) != len(found):
        yield f"advances: {len(told)} records for {len(found)} topic-partitions"
