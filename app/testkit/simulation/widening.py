"""What `flagfall widen` does to a simulated cluster, on which no worker runs."""

from __future__ import annotations

import random
from collections.abc import Iterator

from app.domain.marker import Marker
from app.engine.core.definition import TaskDefinition
from app.engine.core.mending.widening import begin, is_wide, tell_count
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.last_markers import last_markers
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.simulation.samples import SCHEMAS


def widen(broker: Broker, definition: TaskDefinition) -> Iterator[Marker]:
    """To as many tasks as the definition says; each marker when it is written, where it may be broken off."""
    for partition in range(broker.partitions):
        _task(broker, definition, partition).fence()
    for partition, marker in last_markers(broker, definition).items():
        if (transaction := tell_count(definition, marker)) is not None:
            _task(broker, definition, partition).write_in_place(transaction)
            yield transaction.marker
    broker.partitions = max(broker.partitions, definition.task_count)
    markers = last_markers(broker, definition)
    if is_wide(definition, markers):
        return
    for partition in sorted(set(range(definition.task_count)) - markers.keys()):
        task = _task(broker, definition, partition)
        begun = begin(definition, partition, task.starts(), list(markers.values()), task.changelog_id)
        task.write_in_place(begun)
        yield begun.marker


def _task(broker: Broker, definition: TaskDefinition, partition: int) -> SimulatedTask:
    return SimulatedTask(broker, definition, partition, SCHEMAS, random.Random(partition))
