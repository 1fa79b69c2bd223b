"""One partition of a simulated topic: offsets as Kafka gives them, with transactions, compaction and deletion.

What a read_committed consumer sees of it is what Kafka would show: nothing at or above the last stable offset, no
aborted and no control records, and offsets that stay what they were when neighbours are compacted away.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from app.codecs.batches.record_headers import Headers
from app.domain.errors import StateError
from app.engine.core.batch import Batch


class TransactionOutcome(StrEnum):
    """What became of a transaction; readers learn it from its control record in their partition."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


class SentRecord(NamedTuple):
    """A record as a producer sends it. `timestamp_ms` is CreateTime; -1 is none."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0


@dataclass(eq=False, slots=True)
class LogTransaction:
    """One transaction of one producer."""

    producer: str
    outcome: TransactionOutcome = TransactionOutcome.OPEN


@dataclass(eq=False, slots=True)
class LogEntry:
    """What stands at an offset: a record, or, where `record` is None, a transaction's control record."""

    offset: int
    record: SentRecord | None
    transaction: LogTransaction | None

    @property
    def is_committed(self) -> bool:
        """Whether read_committed consumers are given it, once it lies below the last stable offset."""
        return self.record is not None and (
            self.transaction is None or self.transaction.outcome is TransactionOutcome.COMMITTED
        )


@dataclass
class PartitionLog:
    """Entries in `[start, end)`, those compacted away left out."""

    topic: str
    partition: int
    start: int = 0
    entries: list[LogEntry] = field(default_factory=list)
    _open: dict[LogTransaction, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.end = self.start

    @property
    def last_stable_offset(self) -> int:
        """No transaction that is still open has a record below it."""
        return min(self._open.values(), default=self.end)

    def append(self, record: SentRecord, transaction: LogTransaction | None = None) -> int:
        """Offset at which the record now stands."""
        if transaction is not None:
            self._open.setdefault(transaction, self.end)
        return self._put(record, transaction)

    def end_transaction(self, transaction: LogTransaction) -> None:
        """Write the control record of a transaction that has ended."""
        del self._open[transaction]
        self._put(None, transaction)

    def committed(self) -> Iterator[LogEntry]:
        """What a read_committed consumer sees from the log's start."""
        stable = self.last_stable_offset
        return (entry for entry in self.entries if entry.offset < stable and entry.is_committed)

    def fetch(self, offset: int, most: int, *, until: int | None = None, committed: bool = True) -> Batch:
        """Up to `most` records from `offset` on, below `until` if it is given.

        StateError if the log begins behind the offset, as a consumer without a reset policy says it. The batch is
        empty, with `next_offset` behind what was passed over, where there is nothing to be seen.
        """
        if offset < self.start:
            raise StateError(f"{self.topic}-{self.partition}: offset {offset} is gone, the log begins at {self.start}")
        limit = self.last_stable_offset if committed else self.end
        if until is not None:
            limit = min(limit, until)
        chosen: list[LogEntry] = []
        at = offset
        for entry in self._since(offset):
            if entry.offset >= limit or len(chosen) == most:
                break
            at = entry.offset + 1
            if entry.is_committed or (not committed and entry.record is not None):
                chosen.append(entry)
        else:
            at = max(at, limit)  # compaction may have left nothing up to the end
        return self._batch(offset, at, chosen)

    def compact(self, below: int, *, tombstones: bool = False) -> None:
        """Keep the last record of each key below an offset; aborted and control records go, offsets stay.

        `tombstones` says that they have been there for longer than any reader needs, and go too.
        """
        below = min(below, self.last_stable_offset)
        last: dict[bytes | None, int] = {}
        for entry in self.entries:
            if entry.offset < below and entry.is_committed and entry.record is not None:
                last[entry.record.key] = entry.offset
        self.entries = [
            entry
            for entry in self.entries
            if entry.offset >= below
            or (
                entry.is_committed
                and entry.record is not None
                and last[entry.record.key] == entry.offset
                and not (tombstones and entry.record.value is None)
            )
        ]

    def delete_below(self, offset: int) -> None:
        """Drop old segments: the log begins at `offset` now."""
        self.start = max(self.start, min(offset, self.last_stable_offset))
        self.entries = [entry for entry in self.entries if entry.offset >= self.start]

    def _put(self, record: SentRecord | None, transaction: LogTransaction | None) -> int:
        offset, self.end = self.end, self.end + 1
        self.entries.append(LogEntry(offset, record, transaction))
        return offset

    def _since(self, offset: int) -> Iterable[LogEntry]:
        return self.entries[bisect.bisect_left(self.entries, offset, key=lambda entry: entry.offset) :]

    def _batch(self, base: int, following: int, chosen: list[LogEntry]) -> Batch:
        records = [entry.record for entry in chosen if entry.record is not None]
        return Batch(
            topic=self.topic,
            partition=self.partition,
            base_offset=base,
            next_offset=following,
            offsets=np.array([entry.offset for entry in chosen], np.int64),
            timestamps_ms=np.array([record.timestamp_ms for record in records], np.int64),
            keys=[record.key for record in records],
            values=[record.value for record in records],
            headers=[record.headers for record in records],
        )
