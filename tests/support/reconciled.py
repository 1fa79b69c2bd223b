"""A reconciliation of a world of ours, and what is spoilt in it."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from pyspark.sql import SparkSession

from app.base.worker_door import WorkerDoor
from app.domain.contribution import contribution, key_of
from app.domain.naming.evidence import Translator
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.rows import Cells, RowKey
from app.domain.source import with_derived
from app.domain.windows.scope import Scope
from app.engine.core.views.again import row_again
from spark_batch.findings.report import Report
from spark_batch.reconcile import reconcile
from tests.support.machine.spark import lent
from tests.support.material.histories import START_US, encode
from tests.support.material.schemas.foreign import encode_as, foreign_ids
from tests.support.material.schemas.versions import RIDE_VERSIONS
from tests.support.material.stored.changelog import write_changelog
from tests.support.material.stored.exports import serving
from tests.support.material.stored.runs import read_report
from tests.support.material.stored.world import Table, World

SEED = 5
COUNT = 120
FARE = 4
TIP = 6
"""Cells of the first view that are changed by hand."""
MADE_UP = RowKey(START_US, (3,))


@dataclass
class Checked:
    """A run's outcome, as object and as written."""

    report: Report
    document: dict[str, Any]

    def difference(self, partition: int, key: RowKey) -> dict[str, Any]:
        """The one difference of a row of the first view."""
        (found,) = (
            one
            for one in self.document["views"][0]["differences"]
            if (one["partition"], one["window_start_us"], one["group"]["zone"]) == (partition, key[0], key.group[0])
        )
        return dict(found)


class Rows:
    """Hands out rows of the first view, none twice."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._folded = fold(world.view, world.records, world.advances)
        self._used: set[tuple[int, RowKey]] = set()

    def applied(self, partition: int) -> tuple[Record, RowKey]:
        """An applied record whose row has others too."""
        for record in self._folded.applied:
            key = key_of(self._world.view, with_derived(self._world.source, record.values))
            assert key is not None
            if (
                record.partition == partition
                and self._folded.rows[partition][key][0] > 1
                and self._take(partition, key)
            ):
                return record, key
        raise AssertionError("the seed gives no such record")

    def late(self) -> tuple[Record, RowKey]:
        """A record that was late."""
        for record in self._folded.late:
            key = key_of(self._world.view, with_derived(self._world.source, record.values))
            if key is not None and self._take(record.partition, key):
                return record, key
        raise AssertionError("the seed gives no late record")

    def _take(self, partition: int, key: RowKey) -> bool:
        fresh = (partition, key) not in self._used
        self._used.add((partition, key))
        return fresh


@dataclass
class Spoilt:
    """Where each fault was put, and what the reconciliation said of them all."""

    world: World
    places: dict[str, tuple[Record, RowKey]]
    checked: Checked

    def difference(self, fault: str) -> dict[str, Any]:
        record, key = self.places[fault]
        return self.checked.difference(record.partition, key)


def check(
    world: World,
    spark: SparkSession,
    folder: Path,
    *,
    translator: Translator = row_again,
    scope: Scope | None = None,
    third: Path | None = None,
    **options: Any,
) -> Checked:
    write_changelog(world)
    with serving(world, **options) as url:
        report = reconcile(
            world.settings,
            lent(spark),
            world.groups,
            worker=WorkerDoor(url),
            output=folder,
            work=folder / "work",
            translator=translator,
            scope=scope,
            third=third,
        )
    shutil.rmtree(folder / "work", ignore_errors=True)
    return Checked(report, read_report(folder, report.run_id))


def without(world: World, key: RowKey, record: Record) -> Cells:
    """The row as it would be had the record not been."""
    rest = [other for other in world.records if other is not record]
    return fold(world.view, rest, world.advances).rows[record.partition][key]


def spoil(world: World) -> dict[str, tuple[Record, RowKey]]:
    rows, view, name = Rows(world), world.view, world.view.name
    places = {}

    def both(fault: str, place: tuple[Record, RowKey], change: Callable[[Table, Record, RowKey], Any]) -> None:
        record, key = places[fault] = place
        world.spoil_both(record.partition, view, lambda table: change(table, record, key))

    def add(table: Table, record: Record, key: RowKey) -> None:
        table[key] = view.merge(table.get(key, view.neutral), contribution(view, record))

    both("late applied", rows.late(), add)
    both("doubled", rows.applied(1), add)
    both("lost", rows.applied(0), lambda table, record, key: table.update({key: without(world, key, record)}))
    both("missing", rows.applied(0), lambda table, record, key: table.pop(key))
    both("altered", rows.applied(1), lambda table, record, key: table.update({key: changed(table[key], FARE)}))
    both(
        "lost and altered",
        rows.applied(0),
        lambda table, record, key: table.update({key: changed(without(world, key, record), TIP)}),
    )
    both(
        "made up",
        (replace(world.records[0], partition=0), MADE_UP),
        lambda table, record, key: table.update({key: changed(view.neutral, 0, by=3)}),
    )
    record, key = places["store"] = rows.applied(0)
    world.tasks[0].live[name][key] = without(world, key, record)
    return places


def poison(world: World) -> list[bytes | None]:
    """Values that cannot be used, and one that is odd but legal."""
    head = b"\0" + world.schema_id.to_bytes(4, "big")
    good = encode(dict(world.records[0].values))[5:]
    text = good.index(b"\x40") + 1
    return [
        None,
        b"",
        head,
        b"\x07" + head[1:] + good,
        b"\0" + struct.pack(">I", 1 << 30) + good,
        head + good[:-1],
        head + good + b"\0",
        head + good[:text] + b"\xff" + good[text + 1 :],
        *(b"\0" + schema_id.to_bytes(4, "big") + good for schema_id in foreign_ids(world.settings).values()),
    ]


def known_too_late(world: World) -> list[bytes]:
    """Good rides whose schemas the registry is given after the workers met them: of the topic's subject, of another."""
    client, topic = SchemaRegistryClient({"url": world.settings.registry_url}), world.source.topics[0].name
    values = []
    for declared, subject in zip(RIDE_VERSIONS, (f"{topic}-value", f"{topic}-other"), strict=False):
        schema_id = client.register_schema(subject, Schema(json.dumps(declared), "AVRO"))
        values.append(encode_as(schema_id, declared, world.records[0].values))
    return values


def changed(cells: Cells, at: int, *, by: int = 1) -> Cells:
    return (*cells[:at], cells[at] + by, *cells[at + 1 :])


def shift_ledger(world: World, topic: str, **changes: int) -> None:
    """Change figures of one input in the marker of task 0."""
    marker = world.tasks[0].marker
    position = marker.inputs[topic]
    told = replace(position, **{name: getattr(position, name) + by for name, by in changes.items()})
    world.tasks[0].marker = replace(marker, inputs=marker.inputs | {topic: told})


def shift_fates(world: World, topic: str, by: int) -> None:
    """Change how many records task 0 says that it applied, in every view."""
    marker = world.tasks[0].marker
    positions = dict(marker.views)
    for name, position in marker.views.items():
        told = replace(position.fates[topic], applied=position.fates[topic].applied + by)
        positions[name] = replace(position, fates=position.fates | {topic: told})
    world.tasks[0].marker = replace(marker, views=positions)
