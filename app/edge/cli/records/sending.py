"""What `generate`, `replay` and `advance` share: speed, closing, progress and the summary."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import Command, tell

if TYPE_CHECKING:
    import polars as pl

    from app.base.settings import Settings
    from app.domain.catalogue import TaskGroup
    from app.domain.records import TopicPartition
    from app.rides.sent import SentSoFar

PLAIN_LINE_SECONDS = 5.0


class Speed(click.ParamType):
    """`max`, or how many times faster than the rides' own clock: `60x`."""

    name = "speed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        if value is None or value == "max":
            return None
        try:
            times_real = float(str(value).removesuffix("x"))
        except ValueError:
            times_real = 0.0
        if not 0 < times_real < float("inf"):
            self.fail(f"{value!r} is neither max nor a number of times real time, such as 60x", param, ctx)
        return times_real


def speed_option(command: Command) -> Command:
    """`--speed`; passes `speed`: times real time, None for as fast as possible."""
    return click.option(
        "--speed",
        type=Speed(),
        default="max",
        metavar="max|60x",
        show_default=True,
        help="How fast rides are sent.",
    )(command)


def close_option(command: Command) -> Command:
    """`--close`; passes `close`."""
    text = "Then close every window of what is written: rides that come later and are not newer will be late."
    return click.option("--close", is_flag=True, help=text)(command)


def send(
    settings: Settings,
    frames: Iterable[pl.DataFrame],
    expected: int,
    speed: float | None,
    *,
    quiet: bool = False,
) -> tuple[SentSoFar, float]:
    """Write the frames' rides with a progress bar; returns what was written, and the seconds it took.

    Raises TopicsMissing, TopicsDiffer, RightsMissing, RegistryUnavailable, SchemaRefused, DeliveryFailed.
    """
    from app.base.kafka.producer import Producer
    from app.base.kafka.topic_admin import require_topics
    from app.definitions.registered import register_schemas
    from app.rides.pace import Pace
    from app.rides.produce import write_rides
    from app.rides.ride import RIDES
    from app.rights import KafkaRole, require_writes
    from app.topics import source_topics

    sources = source_topics(settings, RIDES)
    require_writes(settings, KafkaRole.PRODUCER, [topic.name for topic in sources])
    require_topics(settings.kafka, sources)
    ids = register_schemas(settings, (RIDES,))
    began = time.monotonic()
    with progress("rides", expected, quiet=quiet) as advanced:
        written = write_rides(Producer(settings.kafka), ids, frames, Pace(speed), lambda so_far: advanced(so_far.total))
    return written, time.monotonic() - began


def close_windows(settings: Settings, group: TaskGroup, latest_clock_ms: int) -> int:
    """Ask for every window of the group to be closed that records up to the clock can be in, and for every half and
    beginning to leave that waits; returns the watermark in microseconds. CannotClose if the workers would refuse it.
    """
    from app.base.kafka.producer import Producer
    from app.base.kafka.topic_admin import require_topics
    from app.base.names import advance_requests_topic
    from app.domain.catalogue import Catalogue
    from app.rides.closing import group_watermark_us, request_advances
    from app.rights import KafkaRole, require_writes
    from app.topics import needed_topics

    watermark_us = group_watermark_us(group, latest_clock_ms)
    require_writes(settings, KafkaRole.MENDER, [advance_requests_topic(settings.app_id, group.name)])
    require_topics(settings.kafka, needed_topics(settings, Catalogue((group,))))
    ends = log_ends(settings, group)
    request_advances(Producer(settings.kafka), settings.app_id, group.name, ends, watermark_us)
    return watermark_us


def log_ends(settings: Settings, group: TaskGroup) -> dict[TopicPartition, int]:
    """Offset behind the last record of each topic-partition that the group reads."""
    from app.base.kafka.cluster import Cluster
    from app.domain.records import TopicPartition

    partitions = range(settings.topics.partitions)
    places = [TopicPartition(topic.name, p) for source in group.sources for topic in source.topics for p in partitions]
    return Cluster(settings.kafka).log_ends(places, committed=True)


def empty_topics(ends: Mapping[TopicPartition, int]) -> dict[str, int]:
    """How many partitions of each topic have never had a record: each keeps every window open."""
    return dict(Counter(place.topic for place, end in sorted(ends.items()) if end == 0))


def echo_empty(empty: Mapping[str, int], latest_clock_ms: int) -> None:
    """Say what keeps windows open that nobody asked to be closed, and the command that closes them."""
    if empty:
        named = ", ".join(f"{topic} ({count} partition{'s' if count > 1 else ''})" for topic, count in empty.items())
        at = _instant(latest_clock_ms * 1000)
        click.echo(f"{'':>12}  no record yet in {named}: windows stay open until there is one, or")
        click.echo(f"{'':>12}  flagfall advance --to {at.isoformat(timespec='seconds')}")


@contextlib.contextmanager
def progress(what: str, expected: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, a line now and then elsewhere, both on standard error. Yields the call for "so many"."""
    if quiet:
        yield lambda done: None
    elif sys.stderr.isatty():
        with _bar(what, expected) as advanced:
            yield advanced
    else:
        yield _lines(what, expected)


@contextlib.contextmanager
def _bar(what: str, expected: int) -> Iterator[Callable[[int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from app.base.terminal import Terminal

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=expected)
        yield lambda done: bar.update(task, completed=done)


def _lines(what: str, expected: int) -> Callable[[int], None]:
    last = time.monotonic()

    def advanced(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= PLAIN_LINE_SECONDS:
            last = time.monotonic()
            tell(f"{done:,} of {expected:,} {what}")

    return advanced


def summary(written: SentSoFar, seconds: float, watermark_us: int | None, **more: Any) -> dict[str, Any]:
    """The facts of a run, for people and for programs."""
    return {
        "rides": written.total,
        "rides_by_topic": dict(sorted(written.records.items())),
        "seconds": round(seconds, 3),
        "rides_per_second": round(written.total / seconds) if seconds else None,
        "latest_clock_ms": written.latest_clock_ms,
        "closing_watermark_us": watermark_us,
        **more,
    }


def echo_summary(facts: dict[str, Any]) -> None:
    """One line a topic, and the total."""
    for topic, rides in facts["rides_by_topic"].items():
        click.echo(f"{rides:>12,}  {topic}")
    click.echo(
        f"{facts['rides']:>12,}  rides confirmed in {facts['seconds']:.1f} s, {facts['rides_per_second']:,} a second"
    )
    if facts["closing_watermark_us"] is not None:
        click.echo(f"{'':>12}  windows that end before {_utc(facts['closing_watermark_us'])} will be closed")


def _utc(instant_us: int) -> str:
    return _instant(instant_us).strftime("%Y-%m-%d %H:%M UTC")


def _instant(instant_us: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(-(-instant_us // 1_000_000), dt.UTC)
