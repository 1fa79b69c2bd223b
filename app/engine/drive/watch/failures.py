"""How often a task has failed in the same way at the same place, over restarts and owners on this machine."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aiokafka.errors import KafkaError

from app.base.errors import RegistryUnavailable
from app.base.kafka.cluster import ClusterError
from app.engine.core.batch import Batch

log = logging.getLogger(__name__)

LOUD_FROM = 3
"""Once may be chance, twice a slow recovery from it."""


class Failures:
    """The last failure of each task, one small file each in `folder`.

    Losing a file loses a count and no more: one that cannot be read or written is passed over.
    """

    def __init__(self, folder: Path, application: str) -> None:
        self._folder, self._application = folder, application

    def note(
        self, group: str, partition: int, error: BaseException, taken: Sequence[Batch], positions: Mapping[str, int]
    ) -> None:
        """Count a failure, and name the record if the task gets past it by no restart.

        `taken`: the batches that were being folded, none if the task was at something else. `positions`: where the
        task stands, by topic. What a silent cluster or registry causes is no record's fault, and not counted.
        """
        if _of_a_service(error):
            return
        begins = {batch.topic: batch.base_offset for batch in taken} or dict(positions)
        file = self._folder / f"{self._application}-{group}-{partition}.json"
        times, places = self._counted(file, type(error).__name__, begins)
        if times >= LOUD_FROM:
            ends = {batch.topic: batch.next_offset - 1 for batch in taken}
            named = " and ".join(_named(topic, partition, at, ends.get(topic)) for topic, at in sorted(places.items()))
            log.critical(
                "task %d of %s has failed %d times at the same place with %s: %s. No restart gets past it; "
                "docs/operations.md, 'A record that stops a task', says what to do",
                partition,
                group,
                times,
                type(error).__name__,
                named,
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


def _named(topic: str, partition: int, at: int, end: int | None) -> str:
    behind = f", or one behind it up to {end}" if end is not None and end > at else ""
    return f"the record of {topic}-{partition} at offset {at}{behind}"


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
        return {"kind": str(found["kind"]), "times": int(found["times"]), "places": dict(found["places"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
