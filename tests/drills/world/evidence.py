"""What a check is given: what must be, what is, and what the drill did to the topics itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.base.settings import Settings
from app.domain.records import TopicPartition
from tests.drills.world.expected import Expected, Tables
from tests.drills.world.observed import Observed


@dataclass
class Evidence:
    """`written_rows`: put into the changelog by the drill, by view. `compacted`: the changelog has lost its history.

    `closing`: per topic-partition the offset and watermark of the advance that was asked for at the end.
    """

    settings: Settings
    expected: Expected
    observed: Observed
    written_rows: dict[str, Tables] = field(default_factory=dict)
    closing: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    compacted: bool = False
