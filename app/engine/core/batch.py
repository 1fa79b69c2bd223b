"""What goes into a task and what comes out: batches of raw records in, the contents of one transaction out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple, overload

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.avro.decode import Packed
from app.codecs.batches.record_headers import Headers, RecordHeaders
from app.codecs.blobs import Blobs
from app.domain.marker import Marker
from app.engine.core.task_state import Effect


@dataclass(frozen=True)
class Batch:
    """Consecutive records of one topic-partition, as the log holds them.

    `base_offset` is the fetch position before the first record and `next_offset` the one behind the last:
    offsets in `[base_offset, next_offset)` without a record are control records, aborted or compacted away.
    `unread`: why, by offset, records were refused before anybody read them; they are nulls here. Of a batch that was
    cut they may lie outside.
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
    unread: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def packed(self) -> Packed:
        """The values as one block, to be decoded."""
        return Packed(self.values)

    @cached_property
    def held_bytes(self) -> int:
        """What it keeps in memory: the buffer that its values stand in, though others may stand there too."""
        return len(Blobs.of(self.values).data)

    @classmethod
    def joined(cls, parts: Sequence[Batch]) -> Batch:
        """One batch of at least one part, each of which continues the one before it."""
        if len(parts) == 1:
            return parts[0]
        return replace(
            parts[0],
            next_offset=parts[-1].next_offset,
            offsets=np.concatenate([part.offsets for part in parts]),
            timestamps_ms=np.concatenate([part.timestamps_ms for part in parts]),
            keys=Blobs.joined([part.keys for part in parts]),
            values=Blobs.joined([part.values for part in parts]),
            headers=RecordHeaders.joined([part.headers for part in parts]),
            unread={offset: why for part in parts for offset, why in part.unread.items()},
        )

    def until(self, offset: int) -> Batch:
        """The part below `offset`."""
        at = int(np.searchsorted(self.offsets, offset))
        return replace(
            self,
            next_offset=min(offset, self.next_offset),
            offsets=self.offsets[:at],
            timestamps_ms=self.timestamps_ms[:at],
            keys=self.keys[:at],
            values=self.values[:at],
            headers=self.headers[:at],
        )

    def emptied(self, offsets: Collection[int]) -> Batch:
        """With no value where a record stands at one of these offsets."""
        places = zip(self.offsets.tolist(), self.values, strict=True)
        return replace(self, values=[None if offset in offsets else value for offset, value in places])

    def in_pieces(self, records: int) -> Iterator[Batch]:
        """The same in parts of so many records, the last one up to half as many more or less."""
        rest = self
        while 2 * len(rest) >= 3 * records:
            at = int(rest.offsets[records])
            yield rest.until(at)
            rest = rest.since(at)
        yield rest

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
    """A record to write to another topic than the changelog.

    `partition` None lets the key decide, `timestamp_ms` None the wall clock of the writing.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class MadeOutputs(Sequence[Output]):
    """Outputs as many as records, each made when it is asked for: whoever writes them gives others their turns."""

    def __init__(self, count: int, make: Callable[[int], Output]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Output]:
        return map(self._make, range(self._count))

    @overload
    def __getitem__(self, at: int) -> Output: ...
    @overload
    def __getitem__(self, at: slice) -> list[Output]: ...
    def __getitem__(self, at: int | slice) -> Output | list[Output]:
        which = range(self._count)[at]
        return self._make(which) if isinstance(which, int) else [self._make(one) for one in which]


class OutputColumns(Sequence[Output]):
    """Records for one topic in columns, without headers; each an `Output` only for whoever asks for it."""

    def __init__(
        self, topic: str, partition: int | None, keys: Blobs, values: Blobs, timestamps_ms: Int64s | None = None
    ) -> None:
        self.topic, self.partition = topic, partition
        self.keys, self.values, self.timestamps_ms = keys, values, timestamps_ms

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, at: int) -> Output: ...
    @overload
    def __getitem__(self, at: slice) -> OutputColumns: ...
    def __getitem__(self, at: int | slice) -> Output | OutputColumns:
        if isinstance(at, slice):
            times = None if self.timestamps_ms is None else self.timestamps_ms[at]
            return OutputColumns(self.topic, self.partition, self.keys[at], self.values[at], times)
        time_ms = None if self.timestamps_ms is None else int(self.timestamps_ms[at])
        return Output(self.topic, self.keys[at], self.values[at], (), self.partition, time_ms)

    def at(self, which: Int64s) -> OutputColumns:
        """Some of them, by number."""
        times = None if self.timestamps_ms is None else self.timestamps_ms[which]
        return OutputColumns(self.topic, self.partition, self.keys.at(which), self.values.at(which), times)


class Outputs(Sequence[Output]):
    """The outputs of several parts, one part behind the other; a part may make its outputs when they are asked for."""

    def __init__(self, parts: Sequence[Sequence[Output]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[Output]:
        return chain.from_iterable(self.parts)

    @overload
    def __getitem__(self, at: int) -> Output: ...
    @overload
    def __getitem__(self, at: slice) -> list[Output]: ...
    def __getitem__(self, at: int | slice) -> Output | list[Output]:
        return list(self)[at]


def in_parts(outputs: Sequence[Output]) -> Iterator[Sequence[Output]]:
    """A transaction's outputs in their order: each part that is in columns, and between them what is not."""
    parts = outputs.parts if isinstance(outputs, Outputs) else [outputs]
    for are_columns, some in groupby(filter(len, parts), lambda part: isinstance(part, OutputColumns)):
        if are_columns:
            yield from some
        else:
            yield Outputs([*some])


class Changes(Sequence[tuple[bytes, bytes | None]]):
    """Keys and values of changelog records in the order of writing, in columns; a null value is a tombstone."""

    def __init__(self, keys: Blobs, values: Blobs) -> None:
        self.keys, self.values = keys, values

    @classmethod
    def of(cls, records: Iterable[tuple[bytes, bytes | None]]) -> Changes:
        """The same records, given one by one."""
        held = list(records)
        return cls(Blobs.of(key for key, _ in held), Blobs.of(value for _, value in held))

    @classmethod
    def joined(cls, parts: Sequence[Changes]) -> Changes:
        """The records of all parts."""
        return cls(Blobs.joined([part.keys for part in parts]), Blobs.joined([part.values for part in parts]))

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, at: int) -> tuple[bytes, bytes | None]: ...
    @overload
    def __getitem__(self, at: slice) -> Changes: ...
    def __getitem__(self, at: int | slice) -> tuple[bytes, bytes | None] | Changes:
        if isinstance(at, slice):
            return Changes(self.keys[at], self.values[at])
        return self.keys[at] or b"", self.values[at]

    def __iter__(self) -> Iterator[tuple[bytes, bytes | None]]:
        return ((key or b"", value) for key, value in zip(self.keys, self.values, strict=True))


@dataclass(frozen=True)
class Transaction:
    """What one step of a task does, to be written in one Kafka transaction and swapped in after its commit.

    The last record of `changelog` is the marker.
    """

    marker: Marker
    changelog: Changes
    outputs: Sequence[Output]
    effects: list[Effect]
