"""What goes into a task and what comes out: batches of raw records in, the contents of one transaction out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from app.codecs.changelog import Int64s
from app.domain.marker import Marker
from app.engine.state import ViewChange

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class Batch:
    """Consecutive records of one topic-partition, as the log holds them.

    `base_offset` is the fetch position before the first record and `next_offset` the one behind the last:
    offsets in `[base_offset, next_offset)` without a record are control records, aborted or compacted away.
    """

    topic: str
    partition: int
    base_offset: int
    next_offset: int
    offsets: Int64s
    timestamps_ms: Int64s
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers]

    def __len__(self) -> int:
        return len(self.values)

    def behind(self, other: Batch) -> Batch:
        """This batch followed by the one that continues it."""
        return replace(
            self,
            next_offset=other.next_offset,
            offsets=np.concatenate([self.offsets, other.offsets]),
            timestamps_ms=np.concatenate([self.timestamps_ms, other.timestamps_ms]),
            keys=[*self.keys, *other.keys],
            values=[*self.values, *other.values],
            headers=[*self.headers, *other.headers],
        )

    def since(self, offset: int) -> Batch:
        """The part at `offset` and above."""
        at = int(np.searchsorted(self.offsets, offset))
        return replace(
            self,
            base_offset=max(offset, self.base_offset),
            offsets=self.offsets[at:],
            timestamps_ms=self.timestamps_ms[at:],
            keys=self.keys[at:],
            values=self.values[at:],
            headers=self.headers[at:],
        )


class Output(NamedTuple):
    """A record to write to another topic than the changelog; `partition` None lets the key decide."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True)
class Transaction:
    """What one batch does, to be written in one Kafka transaction and swapped in after its commit.

    `changelog` is in the order of writing; its last record is the marker.
    """

    marker: Marker
    changelog: list[tuple[bytes, bytes | None]]
    outputs: list[Output]
    changes: dict[str, ViewChange]
    blocks: dict[bytes, tuple[int, int]] = field(default_factory=dict)
