"""Where all tasks of a group stand: those owned here, and the others as their owners tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.edge.http.across_tasks import AcrossTasks
from app.edge.http.context import Edge, ServedGroup
from app.edge.http.owners import of_all_tasks, unusable
from app.edge.http.tasks.standing import TaskStanding, decode_standings, standing_of

OWN_TASKS = "/v1/internal/tasks"


async def gather_tasks(edge: Edge, group: ServedGroup) -> AcrossTasks[TaskStanding]:
    """Every task of the group that can be had within two attempts, and why the others are missing."""
    return AcrossTasks(*await of_all_tasks(edge, _AskedTasks(group)))


def own_tasks(group: ServedGroup, partitions: Sequence[int]) -> list[TaskStanding]:
    """Of those partitions that are owned here."""
    here = group.directory.tasks if group.directory.answers else {}
    return [standing_of(group, here[partition]) for partition in partitions if partition in here]


class _AskedTasks:
    """Where the tasks of a group stand."""

    address = OWN_TASKS
    not_given = "does not own it now"

    def __init__(self, group: ServedGroup) -> None:
        self._group, self.directory = group, group.directory

    def parameters(self) -> list[tuple[str, str]]:
        return [("group", self._group.name)]

    async def own(self, partitions: Sequence[int]) -> Mapping[int, TaskStanding]:
        return {task.partition: task for task in own_tasks(self._group, partitions)}

    async def read(self, url: str, status: int, body: bytes) -> Mapping[int, TaskStanding]:
        if status != 200:
            raise unusable(status)
        return {task.partition: task for task in decode_standings(body)}
