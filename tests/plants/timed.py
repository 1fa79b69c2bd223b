"""How long a reconciliation takes to explain rows that are wrong in table and changelog, by their number.

    python -m tests.plants.timed --rides 200000 --rows 1 --rows 100 --rows 10000

Rides are sent and counted by one worker. In between its runs as many rows of `zone_demand` as are asked for are written
to the changelog without one of their records; then `flagfall reconcile` has to name that record in each of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import numpy as np
from confluent_kafka import Producer

from app.base import names
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.topic_admin import create_topics
from app.base.services.local import supervised
from app.base.settings import Settings
from app.codecs.stored.changelog import encode_rows, marker_key
from app.definitions.registered import register_schemas
from app.domain.contribution import contribution, key_of
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.source import with_derived
from app.edge.cli.demo.place import own_place
from app.edge.cli.records.generate import generated
from app.edge.cli.records.sending import send
from app.edge.local.lifetime import unwind_on_term
from app.rides.generator.generator import Generator
from app.rides.ride import RIDES
from app.rides.shipped import shipped
from app.rides.views import ZONE_DEMAND
from app.topics import topics
from tests.support.machine.asking import flush
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import flagfall
from tests.support.machine.world import covers, ready_worker
from tests.support.material.stored.row_keys import encode_key
from tests.support.truth import changelog_of, records_of

Place = tuple[int, RowKey]
SEED = 7


@click.command(help=__doc__)
@click.option("--rides", type=click.IntRange(1), default=200_000, show_default=True)
@click.option("--rows", "numbers", type=click.IntRange(1), multiple=True, default=(1, 100, 10_000), show_default=True)
@click.option("--report", type=click.Path(path_type=Path), default=Path("build/explained.json"), show_default=True)
def main(rides: int, numbers: tuple[int, ...], report: Path) -> None:
    unwind_on_term()
    with own_place(Path("build/explained")) as settings, supervised(settings):
        create_topics(settings.kafka, topics(settings))
        register_schemas(settings, shipped(settings).sources)
        send(settings, generated(Generator(SEED), 0, rides), rides, None)
        with ready_worker(settings, settings.data_dir) as counting:
            wait_for(lambda: covers(settings, counting, ZONE_DEMAND), "every ride is covered", [counting], 300)
        held = _held(settings)
        found = {str(number): _explained(settings, held, number) for number in numbers}
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps({"rides": rides, "rows": found}, indent=2) + "\n")
    click.echo(report.read_text())


def _held(settings: Settings) -> Mapping[Place, Sequence[Record]]:
    """Rows of several records, with these."""
    held: dict[Place, list[Record]] = {}
    for record in fold(ZONE_DEMAND, records_of(settings, RIDES)).applied:
        key = key_of(ZONE_DEMAND, with_derived(RIDES, record.values))
        assert key is not None
        held.setdefault((record.partition, key), []).append(record)
    return {place: records for place, records in held.items() if len(records) > 1}


def _explained(settings: Settings, held: Mapping[Place, Sequence[Record]], number: int) -> Mapping[str, object]:
    if number > len(held):
        raise click.UsageError(f"{number:,} rows cannot be spoilt: {len(held):,} have several records")
    spoilt = dict(list(held.items())[:number])
    _store(settings, {place: _row(records[1:]) for place, records in spoilt.items()})
    with ready_worker(settings, settings.data_dir) as wrong:
        told = _reconciled(settings, wrong.url)
    _store(settings, {place: _row(records) for place, records in spoilt.items()})
    (view,) = told["views"]
    if (view["differing_rows"], view["classes"], told["residual"]) != (number, {"LOST": number}, 0):
        raise click.ClickException(f"{number:,} rows lack one record each, and are told as {view['classes']}")
    return {"seconds": told["seconds"].get("explain"), "seconds_in_all": told["seconds"]}


def _row(records: Sequence[Record]) -> Cells:
    return merge_rows(ZONE_DEMAND, [contribution(ZONE_DEMAND, record) for record in records])


def _store(settings: Settings, rows: Mapping[Place, Cells]) -> None:
    """As the changelog's last word, behind which its marker stands again."""
    topic, producer = names.changelog_topic(settings.app_id, RIDES.name), Producer(librdkafka_options(settings.kafka))
    for (task, key), cells in rows.items():
        (value,) = encode_rows(np.array([cells], np.int64))
        producer.produce(topic, value, encode_key(ZONE_DEMAND, key), task)
        producer.poll(0)
    for task in {task for task, _ in rows}:
        marker = changelog_of(settings, RIDES, task)[marker_key(RIDES.number)]
        producer.produce(topic, marker, marker_key(RIDES.number), task)
    flush(producer)


def _reconciled(settings: Settings, url: str) -> dict[str, object]:
    ran = flagfall(settings, "reconcile", "--worker", url, "--view", ZONE_DEMAND.name, "--json")
    if ran.stderr.strip() and not ran.stdout:
        raise click.ClickException(ran.stderr)
    return dict(json.loads(ran.stdout))


if __name__ == "__main__":
    main()
