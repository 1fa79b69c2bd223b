"""How often a task has failed in the same way at the same place, over restarts and owners on this machine."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiokafka.errors import KafkaError

from app.base.errors import RegistryUnavailable
from app.base.kafka.cluster import ClusterError
from app.engine.core.batch import Batch
from app.engine.drive.standing import Stood

log = logging.getLogger(__name__)

LOUD_FROM = 3
"""Once may be chance, twice a slow recovery from it."""


class Failures:
    """The last failure of each task, one small file each in `folder`.

    Losing a file loses a count and no more: one that cannot be read or written is passed over.
    """

    def __init__(self, folder: Path, application: str) -> None:
        self._folder, self._application = folder, application

    def note(self, group: str, partition: int, error: BaseException, stood: Stood) -> None:
        """Count a failure, and name the record if the task gets past it by no restart.

        What a silent cluster or registry causes is no record's fault, and not counted.
        """
        if _of_a_service(error):
            return
        begins = {batch.topic: int(batch.offsets[0]) for batch in stood.folded if len(batch)} or stood.positions
        file = self._folder / f"{self._application}-{group}-{partition}.json"
        times, places = self._counted(file, type(error).__name__, begins)
        if times >= LOUD_FROM:
            log.critical(
                "task %d of %s has failed %d times at the same place with %s: %s. No restart gets past it; "
                "docs/operations.md, 'A record that stops a task', says what to do",
                partition,
                group,
                times,
                type(error).__name__,
                _told(stood, places),
            )

    def _counted(self, file: Path, kind: str, begins: Mapping[str, int]) -> tuple[int, dict[str, int]]:
        """How often it was so now, and where: of several topics those that have not moved since the first time."""
        before = _read(file)
        places, times = dict(begins), 1
        if before.get("kind") == kind and (stood := before["places"].items() & begins.items()):
            places, times = dict(stood), before["times"] + 1
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            draft = file.with_suffix(".draft")
            draft.write_text(json.dumps({"kind": kind, "times": times, "places": places}))
            draft.replace(file)
        return times, places


def _of_a_service(error: BaseException) -> bool:
    if isinstance(error, KafkaError):
        return bool(error.retriable)
    return isinstance(error, ClusterError | RegistryUnavailable)


def _told(stood: Stood, places: Collection[str]) -> str:
    """Which record it may be, of these topics; none where there was none."""
    folded = _with_records(stood.folded, places)
    if folded:
        return _named(folded)
    ahead = _with_records(stood.ahead, places)
    return (
        f"none was being folded, next is {_named(ahead)}" if ahead else "no record was being folded, and none is next"
    )


def _with_records(batches: Iterable[Batch], topics: Collection[str]) -> list[Batch]:
    return sorted((b for b in batches if len(b) and b.topic in topics), key=lambda batch: batch.topic)


def _named(batches: Sequence[Batch]) -> str:
    if len(batches) > 1:
        return f"one of the records of {', of '.join(map(_range, batches))}"
    (batch,) = batches
    first, last = batch.offsets[[0, -1]].tolist()
    behind = f", or one behind it up to {last}" if last > first else ""
    return f"the record of {batch.topic}-{batch.partition} at offset {first}{behind}"


def _range(batch: Batch) -> str:
    first, last = batch.offsets[[0, -1]].tolist()
    return f"{batch.topic}-{batch.partition} at {f'offsets {first} to {last}' if last > first else f'offset {first}'}"


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
        return {"kind": str(found["kind"]), "times": int(found["times"]), "places": dict(found["places"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
