"""`flagfall zones`: names and boroughs of the taxi zones, into the topic from which workers take them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.edge.cli.common import bootstrap_option, echo_json, json_option, load_settings

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.rides.zones import Zone


@click.group()
def command() -> None:
    """Names of zones, which workers join to their answers.

    \b
    flagfall zones publish
    flagfall zones publish --csv taxi_zone_lookup.csv
    """


@command.command()
@click.option(
    "--csv",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Zones in the columns of TLC's taxi_zone_lookup.csv. Default: TLC's list itself.",
)
@click.option("--if-empty", is_flag=True, help="Only if nothing was ever published: corrected names stay.")
@bootstrap_option
@json_option
def publish(path: Path | None, if_empty: bool, bootstrap_server: str | None, as_json: bool) -> None:
    """Write every zone of a list. Zones that the list does not have stay as they are."""
    from app.base.files.bounded import read_bounded
    from app.rides.zones import ZONES_TOPIC, read_zones, zones

    try:
        listed = zones() if path is None else read_zones(read_bounded(path))
    except ValueError as error:
        raise click.UsageError(f"{path}: {error}") from error
    written = publish_zones(load_settings(bootstrap_server), listed.values(), if_empty=if_empty)
    if as_json:
        return echo_json({"topic": ZONES_TOPIC, "zones": written})
    click.echo(f"{written} zones published to {ZONES_TOPIC}")


def publish_zones(settings: Settings, listed: Iterable[Zone], *, if_empty: bool = False) -> int:
    """Write these zones and wait until they are confirmed; returns how many. Raises TopicsMissing, DeliveryFailed.

    `if_empty`: none if there ever was a record in the topic.
    """
    import time

    from app.base.kafka.cluster import Cluster
    from app.base.kafka.producer import Producer
    from app.base.kafka.topic_admin import require_topics
    from app.domain.records import TopicPartition
    from app.rides.zones import zone_key, zone_value
    from app.rights import KafkaRole, require_writes
    from app.topics import zones_topic

    topic = zones_topic(settings)
    require_writes(settings, KafkaRole.PRODUCER, [topic.name])
    require_topics(settings.kafka, [topic])
    if if_empty and any(Cluster(settings.kafka).log_ends([TopicPartition(topic.name, 0)], committed=False).values()):
        return 0
    producer, held, now_ms = Producer(settings.kafka), list(listed), time.time_ns() // 1_000_000
    keys, values = [zone_key(zone.number) for zone in held], [zone_value(zone) for zone in held]
    producer.send(topic.name, values, keys, [now_ms] * len(held))
    return producer.finish()
