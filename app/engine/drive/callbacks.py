"""What runner, writer, tables and driver call of each other: who calls, when, on which thread, and what may block.

"The loop" is the worker's event loop, in its main thread. Nothing here may hold it: what takes longer than a step of
some milliseconds goes to a thread. What may be awaited holds up its own task only. Those that hand over a part, or tell
of one, stand beside it: `OnFailure`, `Start`, `OnStep`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from app.codecs.avro.schema import WriterSchema
from app.engine.core.batch import Batch, Transaction
from app.engine.core.building import Stretch
from app.engine.core.task_state import TaskState

if TYPE_CHECKING:
    from app.domain.advance import Advance


class Done(Protocol):
    """A batch is in a committed transaction.

    The runner calls it on the loop, once, after the core has taken the transaction's effects in; of a batch that is
    dropped (a seek, a stop, a failure) never. It must not block: Faust's acknowledgement, which only counts.
    """

    def __call__(self) -> None: ...


class BackPressure(Protocol):
    """A topic of the task holds enough (`full`), or has been emptied again (`drained`).

    `WaitingBatches` calls it on the loop, inside of `offer` and of taking a batch; and `SourceTable`, for all topics,
    when a runner has gone. It must not block: it marks the topic-partition for the fetcher, whose thread looks at it.
    """

    def __call__(self, topic: str) -> None: ...


class OnGap(Protocol):
    """A batch did not follow the state: please fetch from `offset` again.

    The runner calls it on the loop, inside of `offer`, for every batch that comes too early. It must not block: the
    seek is begun in the background, once for each topic-partition.
    """

    def __call__(self, topic: str, offset: int) -> None: ...


class Reread(Protocol):
    """Gives a stretch of a partition's log again, or its first part, with the advances that were made in it.

    The runner awaits it on the loop between two transactions while views are being built; batches wait meanwhile. It
    reads Kafka, so it takes as long as that takes; it raises ClusterError, StateError.
    """

    def __call__(self, stretch: Stretch, partition: int) -> Awaitable[tuple[Batch, Sequence[Advance]]]: ...


class AskLogEnds(Protocol):
    """Gives the offset behind the last record, committed or not, of each topic of records in the task's partition.

    The runner awaits it on the loop before it folds requests to raise watermarks; batches wait meanwhile. The broker
    is asked in a thread; it raises ClusterError.
    """

    def __call__(self) -> Awaitable[Mapping[str, int]]: ...


class Heartbeat(Protocol):
    """Whether the group counts this worker among its members, of this generation, now.

    `TakeOver` awaits it on the loop before it fences anybody; again and again until it is true. The driver asks in
    Faust's consumer thread, whose loop answers.
    """

    def __call__(self) -> Awaitable[bool]: ...


class Ready(Protocol):
    """A state is whole; `StateReader` calls it on the loop, once for each partition. It must not block."""

    def __call__(self, partition: int, state: TaskState) -> None: ...


class WriteInPlace(Protocol):
    """Writes a task's transaction in the place of a worker, and gives the offset of its marker.

    Awaited on the loop by what mends the tasks of a stopped group, inside of `StoppedGroup.held`, once for each task
    that it mends. It takes as long as Kafka does, and raises Fenced if an owner took over after all.
    """

    def __call__(self, partition: int, transaction: Transaction, /) -> Awaitable[int]: ...


class TakeChanges(Protocol):
    """Records of a changelog, in order; called by `read_to_end` on the loop, for each step of a partition.

    It may work for as long as a step of records takes to be read in, for the loop gets its turn between two; and may
    raise, which ends the reading.
    """

    def __call__(self, batch: Batch, /) -> None: ...


class PartitionRead(Protocol):
    """All records of this partition have been given to `TakeChanges`.

    `read_to_end` calls it on the loop, once for each partition, as soon as its own end is reached; also of one that
    holds nothing. It must not block; it may raise, which ends the reading of the others.
    """

    def __call__(self, partition: int, /) -> None: ...


class TakeAgain(Protocol):
    """Takes over these tasks, which another worker had fenced while the group went on giving them to this one.

    `Retaking` awaits it on the loop, a while after the fence, with nothing of the former runners left; other tasks go
    on. It asks the group and reads changelogs, so it takes as long as these do; what it raises ends the worker.
    """

    def __call__(self, partitions: Collection[int], /) -> Awaitable[None]: ...


class OnAnswer(Protocol):
    """The registry has told of a schema that a batch was withheld for, or cannot be asked any more.

    Called on the loop by the question's end, once for each batch. It must not block: the runner is woken, and takes
    the batch in its turn.
    """

    def __call__(self) -> None: ...


class LookUp(Protocol):
    """The schema of this id as the registry tells it now; None for an id that it does not have.

    `SchemaCache` calls it in a thread of its own, for several ids at once, again and again while it raises what
    the cache takes for silence. It may block for as long as the registry's time-out.
    """

    def __call__(self, schema_id: int, /) -> WriterSchema | None: ...


class EndWorker(Protocol):
    """Ends the worker by an error, in bounded time; the first of several counts.

    Awaited on the loop by watches and by what takes tasks again: whoever calls it does nothing more. From other
    threads it is begun by `background.begin_elsewhere`.
    """

    def __call__(self, error: BaseException) -> Awaitable[None]: ...
