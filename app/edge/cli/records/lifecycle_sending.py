"""What `flagfall generate --lifecycle` does: starts, ends and fares of rides into their topics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.records.sending import progress

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.domain.catalogue import Catalogue
    from app.rides.lifecycle.lifecycle import Lifecycle

RECORDS_PER_RIDE = 3


def send_lifecycle(
    settings: Settings, lifecycle: Lifecycle, first: int, rides: int, speed: float | None, *, quiet: bool
) -> dict[str, Any]:
    """Write all records of the rides numbered from `first`; gives the facts of the run.

    Raises click.ClickException where the settings leave the topics out, and what `send` raises.
    """
    from app.base.kafka.producer import Producer
    from app.base.kafka.topic_admin import require_topics
    from app.base.setting_groups import variable
    from app.definitions.registered import register_schemas
    from app.rides.lifecycle.order import in_order
    from app.rides.lifecycle.produce import write_lifecycle
    from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
    from app.rides.pace import Pace
    from app.rights import KafkaRole, require_writes
    from app.topics import source_topics

    if not settings.lifecycle:
        on = f"{variable('lifecycle')}=true"
        raise click.ClickException(f"life cycles have no topics here: set {on}, then flagfall topics create")
    topics = [topic for source in (RIDE_EVENTS, FARES) for topic in source_topics(settings, source)]
    require_writes(settings, KafkaRole.PRODUCER, [topic.name for topic in topics])
    require_topics(settings.kafka, topics)
    ids = register_schemas(settings, (RIDE_EVENTS, FARES))
    began = time.monotonic()
    with progress("records", RECORDS_PER_RIDE * rides, quiet=quiet) as advanced:
        frames = in_order(lifecycle, first, rides)
        recorded = write_lifecycle(
            Producer(settings.kafka), ids, frames, Pace(speed), lambda so_far: advanced(so_far.total)
        )
    seconds = time.monotonic() - began
    return {
        "rides": rides,
        "records": recorded.total,
        "records_by_topic": dict(sorted(recorded.records.items())),
        "seconds": round(seconds, 3),
        "records_per_second": round(recorded.total / seconds) if seconds else None,
        "latest_clock_ms": recorded.latest_clock_ms,
        "seed": lifecycle.seed,
        "first": first,
    }


def over_joined(catalogue: Catalogue) -> list[str]:
    """Groups of views over what is joined of these records, which come to their topic a moment later."""
    from app.rides.lifecycle.pairing import FARED

    return [group.name for group in catalogue.groups if FARED in group.sources and group.views]


def echo_recorded(facts: dict[str, Any], left_open: Sequence[str] = ()) -> None:
    """One line a topic, the total, and the groups whose windows nobody asked to be closed."""
    for topic, records in facts["records_by_topic"].items():
        click.echo(f"{records:>12,}  {topic}")
    click.echo(f"{facts['records']:>12,}  records of {facts['rides']:,} rides confirmed in {facts['seconds']:.1f} s")
    for name in left_open:
        click.echo(f"{'':>12}  windows over what is joined stay open: flagfall advance --group {name} --to TIME")
