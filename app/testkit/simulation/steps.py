"""What can happen in a history, one step at a time.

Every step stands for itself: left out, it changes no other one. So a failing history is shrunk by leaving steps out
(`app.testkit.simulation.shrink`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from app.domain.records import TopicPartition
from app.domain.view import View
from app.testkit.simulation.samples import Sample


class Produce(NamedTuple):
    """Records for one topic-partition; with a producer they belong to its transaction."""

    place: TopicPartition
    samples: tuple[Sample, ...]
    producer: str | None


class EndInput(NamedTuple):
    """The end of an input producer's transaction."""

    producer: str
    commits: bool


class Request(NamedTuple):
    """A request to raise a watermark, to be taken `back` offsets before the log's present end or later.

    `flaw`: why it is to be refused; None if it is as it should be.
    """

    place: TopicPartition
    watermark_us: int
    back: int | None
    flaw: Flaw | None = None


class Flaw(StrEnum):
    """What a request to raise a watermark may have wrong: each is the reason that it is refused for."""

    UNDECODABLE = "undecodable"
    TOPIC = "out_of_bounds:topic"
    WATERMARK = "out_of_bounds:watermark_us"
    OFFSET = "unreachable_offset"


class Correct(NamedTuple):
    """A correction of the `pick`-th row that a task's changelog holds for a view.

    `what`: "raise" its count, "remove" it, expect another row ("stale"), send it "twice", or "junk" instead.
    """

    partition: int
    view: View
    pick: int
    what: str


class Idle(NamedTuple):
    """A worker that finds no input is to raise the watermark of some topic: the idle advance."""

    worker: str
    partition: int
    watermark_us: int


class Assign(NamedTuple):
    """The group gives a task to a worker; `told`: its former owner hears of it first and hands over in order."""

    worker: str
    partition: int
    told: bool


class Run(NamedTuple):
    """A worker goes on with a task for some calls to the broker; `draws` decides what it reads and in what order."""

    worker: str
    partition: int
    calls: int
    draws: int


class Kill(NamedTuple):
    """A worker is gone with all it held; what it left open stays open."""

    worker: str


class Look(NamedTuple):
    """Compare what queries see on a worker with the fold of what its marker covers."""

    worker: str
    partition: int


class Compact(NamedTuple):
    """The broker compacts a task's changelog up to `spare` offsets before its end."""

    partition: int
    spare: int


class Delete(NamedTuple):
    """The broker deletes old input that the task has folded, up to `spare` offsets before the marker's position."""

    place: TopicPartition
    spare: int


class TimeOut(NamedTuple):
    """The broker aborts a task's transaction, open for too long."""

    partition: int


class WriteControl(NamedTuple):
    """The broker writes one of the control records that a committed transaction of a task still owes."""

    partition: int


class Deploy(NamedTuple):
    """Workers that take tasks over from now on know these views."""

    views: tuple[View, ...]


class NewRules(NamedTuple):
    """Workers that take tasks over from now on give these graces (view and seconds), and hold records to this skew."""

    graces: tuple[tuple[str, int], ...]
    skew_seconds: int


class Widen(NamedTuple):
    """All workers are stopped, topics and tasks become so many; broken off after `breaks` markers, and done again."""

    partitions: int
    breaks: int


Step = (
    Produce
    | EndInput
    | Request
    | Correct
    | Idle
    | Assign
    | Run
    | Kill
    | Look
    | Compact
    | Delete
    | TimeOut
    | WriteControl
    | Deploy
    | NewRules
    | Widen
)


def partition_of(step: Step) -> int:
    """The partition that a step needs; 0 for one that needs none."""
    place = getattr(step, "place", None)
    return int(getattr(step, "partition", 0) if place is None else place.partition)


def describe(step: Step) -> str:
    """The step in a line, for whoever has to understand a failure."""
    match step:
        case Produce(place, samples, producer):
            told = "; ".join(str(sample) for sample in samples)
            return f"{place}{f' by {producer}' if producer else ''}: {told}"
        case Correct(partition, view, pick, what):
            return f"Correct(partition={partition}, view={view.name}, pick={pick}, what={what})"
        case Deploy(views):
            return f"Deploy {', '.join(f'{view.name} ({view.version})' for view in views)}"
        case _:
            return str(step)
