"""What was had from the tasks of a group, and what follows from where they stand together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from app.domain.event_time import NO_WATERMARK
from app.domain.records import TopicPartition


class SeenInput(Protocol):
    """How far a task had seen one topic."""

    @property
    def watermark_us(self) -> int: ...
    @property
    def next_offset(self) -> int: ...


class Stands(Protocol):
    """What a task gave, with the inputs that it rests on."""

    @property
    def inputs(self) -> Mapping[str, SeenInput]: ...


Given = TypeVar("Given", bound=Stands)


@dataclass(frozen=True)
class AcrossTasks(Generic[Given]):
    """What was given by partition, and why each of the other partitions is missing."""

    parts: dict[int, Given] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)

    @property
    def is_partial(self) -> bool:
        return bool(self.missing)

    @cached_property
    def lowest_watermark_us(self) -> int:
        """Up to where every input of every partition was seen; NO_WATERMARK if one is missing or empty."""
        return NO_WATERMARK if self.missing else self.lowest_there_us

    @property
    def lowest_there_us(self) -> int:
        """The same of the partitions that are there; NO_WATERMARK if there are none."""
        return min(self._watermarks.values(), default=NO_WATERMARK)

    @property
    def held_back_by(self) -> list[TopicPartition]:
        """Those of the lowest watermark while others are ahead; an empty one has none, which is lower still.

        First those that have been read from: an empty one that was raised has been raised to where one of them stands.
        None while a partition is missing: that is what holds the rest back then.
        """
        seen = self._watermarks
        lowest_us, highest_us = min(seen.values(), default=0), max(seen.values(), default=0)
        if self.missing or lowest_us == highest_us:
            return []
        return sorted((at for at, us in seen.items() if us == lowest_us), key=lambda at: (self._is_unread(at), at))

    def _is_unread(self, at: TopicPartition) -> bool:
        return self.parts[at.partition].inputs[at.topic].next_offset == 0

    @cached_property
    def _watermarks(self) -> dict[TopicPartition, int]:
        return {
            TopicPartition(topic, partition): state.watermark_us
            for partition, part in self.parts.items()
            for topic, state in part.inputs.items()
        }
