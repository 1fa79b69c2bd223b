"""A world's changelog: the state of its tasks among all that else may stand there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from confluent_kafka import Producer

from app.codecs.stored.changelog import encode_rows, marker_key
from app.codecs.stored.marker import encode_marker
from app.domain.marker import Marker
from app.domain.records import TopicPartition
from app.domain.rows import RowKey
from tests.support.material.stored.row_keys import encode_key
from tests.support.material.stored.transactions import new_producer, send, transaction
from tests.support.material.stored.world import Stored, World

ROWS_OF_FIRST_TRANSACTION = 50

StateRecords = Sequence[tuple[bytes, bytes | None]]


def write_changelog(world: World) -> None:
    """Rows in several transactions, with older values and tombstones before and newer state after the cut."""
    for partition, stored in world.tasks.items():
        at, producer = TopicPartition(world.changelog_topic, partition), new_producer(world)
        rows, older = _rows(world, stored) + stored.blocks, replace(stored.marker, sequence=0)
        gone = encode_key(world.view, RowKey(0, (7,) * len(world.view.texts)))
        _write_state(producer, at, [(key, bytes(len(value))) for key, value in rows[:9]], older)
        _write_state(producer, at, [(gone, b"old")], older)
        with transaction(producer, commit=False):
            producer.produce(at.topic, b"aborted", rows[0][0], partition)
        _write_state(producer, at, [(gone, None)], older)
        _write_state(producer, at, rows[:ROWS_OF_FIRST_TRANSACTION], older)
        stored.changelog_offset = _write_state(producer, at, rows[ROWS_OF_FIRST_TRANSACTION:], stored.marker)
        _write_state(producer, at, [(key, b"newer than the cut") for key, _ in rows[:5]], older)


def _rows(world: World, stored: Stored) -> list[tuple[bytes, bytes]]:
    return [
        (encode_key(view, key), encode_rows(np.array([cells], np.int64))[0])
        for view in world.views
        for key, cells in stored.changelog[view.name].items()
    ]


def _write_state(producer: Producer, at: TopicPartition, records: StateRecords, marker: Marker) -> int:
    """One transaction of these; the marker's offset."""
    with transaction(producer):
        for key, value in records:
            producer.produce(at.topic, value, key, at.partition)
        place = send(producer, at, marker_key(marker.source), encode_marker(marker))
    return place[0]
