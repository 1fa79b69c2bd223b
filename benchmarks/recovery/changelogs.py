"""The changelogs that are recovered, written by the worker's writer: each row is a pure function of its number."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from typing import Any

import numpy as np

from app.base.kafka.clients import aiokafka_options
from app.base.kafka.cluster import Cluster
from app.base.names import changelog_topic
from app.base.settings import Settings
from app.codecs.stored.changelog import encode_rows, marker_key
from app.codecs.stored.marker import encode_marker
from app.codecs.stored.row_keys import encode_keys
from app.domain.marker import Marker
from app.domain.measures.kinds import Count, Max, Sum
from app.domain.view import Group, View
from app.domain.windows.tumbling import Tumbling
from app.engine.core.batch import Changes, Transaction
from app.engine.core.completing import empty_marker
from app.engine.core.definition import TaskDefinition
from app.engine.core.rows.columns import Rows
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.inputs import inputs_of
from app.engine.drive.kafka.schemas import SchemaCache
from app.engine.drive.transactions.writer import TaskWriter
from app.rides.ride import RIDES

PANE_SECONDS, ZONES = 300, 250
MEASURES = (
    Count("trips"),
    Sum("fare_cents", "fare_cents"),
    Sum("tip_cents", "tip_cents"),
    Max("most_cents", "total_cents"),
)
VIEW = View(
    1, "pane", RIDES, (Group("zone", "pickup_zone"),), Tumbling("pickup_at_us", PANE_SECONDS), MEASURES, 0, 0, ""
)
KeyAndValue = tuple[bytes, bytes | None]
DENSE_ROWS, TRICKLE_ROWS, TRICKLE_CHANGED = 20_000, 20, 6


@dataclasses.dataclass(frozen=True)
class Case:
    """A changelog: so many rows in so many tasks, written densely or in a trickle."""

    written: str
    rows: int
    tasks: int

    @classmethod
    def named(cls, name: str) -> Case:
        """Of a name like `trickle-1000000-4`."""
        known = re.fullmatch(r"(dense|trickle)-([1-9]\d*)-([1-9]\d*)", name)
        if known is None:
            raise ArgumentTypeError(f"{name!r}: dense or trickle, rows and tasks are wanted, as trickle-1000000-4")
        return cls(known[1], int(known[2]), int(known[3]))

    @property
    def name(self) -> str:
        return f"{self.written}-{self.rows}-{self.tasks}"

    @property
    def topic(self) -> str:
        return changelog_topic(self.name, RIDES.name)

    @property
    def definition(self) -> TaskDefinition:
        return TaskDefinition(self.name, (RIDES,), (VIEW,))


def connections_of(settings: Settings) -> Connections:
    """Of a reader or writer of changelogs, which asks for no schema."""
    return Connections(aiokafka_options(settings.kafka), Cluster(settings.kafka), SchemaCache(lambda _: None, OSError))


async def fill(settings: Settings, case: Case) -> dict[str, Any]:
    """Write all of it; gives the seconds that it took."""
    began, connections = time.monotonic(), connections_of(settings)
    markers = await _empty_markers(settings, connections, case)
    await asyncio.gather(*(_fill_task(connections, case, marker) for marker in markers.values()))
    return {"seconds": round(time.monotonic() - began, 1)}


async def roll(settings: Settings, case: Case) -> dict[int, int]:
    """Write another marker into each partition; gives their offsets."""
    connections, offsets = connections_of(settings), dict[int, int]()
    for task, marker in (await _empty_markers(settings, connections, case)).items():
        writer = await _writer(connections, case, task)
        offsets[task] = await writer.write(Transaction(marker, Changes.of([_marker_record(marker)]), [], []))
        await writer.stop()
    return offsets


def is_what_was_written(rows: Rows, count: int) -> bool:
    """Whether these are the `count` rows of a task, in any order."""
    assert rows.windows is not None
    numbers = rows.windows // (PANE_SECONDS * 1_000_000) * ZONES + rows.groups[0] - 1
    return np.array_equal(np.sort(numbers), np.arange(count)) and np.array_equal(rows.cells, _cells(numbers))


async def _empty_markers(settings: Settings, connections: Connections, case: Case) -> dict[int, Marker]:
    definition, tasks = case.definition, range(case.tasks)
    inputs = await inputs_of(connections.cluster, definition.topics, tasks, settings.topics.partitions)
    begins = {task: {topic: given.at_start() for topic, given in inputs[task].items()} for task in tasks}
    return {task: empty_marker(definition, task, begins[task]) for task in tasks}


async def _writer(connections: Connections, case: Case, task: int) -> TaskWriter:
    writer = TaskWriter(connections.client, f"{case.name}-{task}", case.topic, task)
    await writer.fence()
    return writer


async def _fill_task(connections: Connections, case: Case, marker: Marker) -> None:
    writer = await _writer(connections, case, marker.partition)
    for sequence, (keys, values) in enumerate(_transactions(case, marker.partition)):
        now = dataclasses.replace(marker, sequence=sequence)
        records: list[KeyAndValue] = [*zip(keys, values, strict=True), _marker_record(now)]
        await writer.write(Transaction(now, Changes.of(records), [], []))
    await writer.stop()


def _marker_record(marker: Marker) -> KeyAndValue:
    return marker_key(RIDES.number), encode_marker(marker)


def _transactions(case: Case, task: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Keys and values of the rows of each. A trickle changes some recent rows with each, to what they were."""
    rows, step = case.rows // case.tasks, DENSE_ROWS if case.written == "dense" else TRICKLE_ROWS
    changed = np.random.default_rng(task)
    for first in range(0, rows, step):
        numbers = np.arange(first, min(first + step, rows))
        if case.written == "trickle" and first:
            recent = changed.integers(max(0, first - 2_000), first, TRICKLE_CHANGED)
            numbers = np.concatenate([numbers, np.unique(recent)])
        yield encode_keys(VIEW, *_columns(numbers)), encode_rows(_cells(numbers))


def _columns(numbers: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    return numbers // ZONES * PANE_SECONDS * 1_000_000, [numbers % ZONES + 1]


def _cells(numbers: np.ndarray) -> np.ndarray:
    """Of the size of a pane's figures, the fingerprint in 64 bits."""
    count = numbers % 7 + 1
    fingerprint = (numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)
    by_name = {
        "count": count,
        "fingerprint": fingerprint,
        "fare_cents": count * 1_731,
        "tip_cents": count * 212,
        "most_cents": numbers % 5_000 + 900,
    }
    return np.stack([by_name.get(name, count) for name in VIEW.cells], axis=1)
