"""Begins the tasks of a stopped group anew (`app.engine.core.mending.rebuilding`)."""

from __future__ import annotations

from collections.abc import Callable

from app.engine.core.mending.rebuilding import Rebuild
from app.engine.drive.kafka.rereading import Rereader
from app.engine.drive.ownership.mending import MendableTask, StoppedGroup, log_of


async def planned(group: StoppedGroup) -> dict[int, tuple[MendableTask, Rebuild]]:
    """What would be done now, by task; nothing is read of the topics, and nothing is written."""
    rereader = Rereader(group.definition.application, group.connections)
    return {
        partition: (at, await _begun(group, rereader, partition, at))
        for partition, at in (await group.standings()).items()
    }


async def rebuild(group: StoppedGroup, advanced: Callable[[int, int], None]) -> dict[int, tuple[MendableTask, Rebuild]]:
    """Do it; `advanced` is told how many offsets have been read, and how many there are in all.

    WorkersRun if the group has members. Records are read by the schemas by which the tasks read them: it waits for a
    registry that has others under their ids. Each task begins anew in a transaction of its own.
    """
    rereader = Rereader(group.definition.application, group.connections)
    async with group.held() as write:
        plan = await planned(group)
        for partition, (at, task) in plan.items():
            group.connections.schemas.expect(at.marker.schemas)
            while (stretch := task.stretch) is not None:
                batch = await rereader.records(stretch, partition)
                task.take(batch, await group.connections.schemas.having(set(batch.packed.schema_ids)))
                done, there = zip(*(one.progress for _, one in plan.values()), strict=True)
                advanced(sum(done), sum(there))
            await write(partition, task.transaction())
    return plan


async def _begun(group: StoppedGroup, rereader: Rereader, partition: int, at: MendableTask) -> Rebuild:
    advances = {topic: await rereader.advances(topic, partition) for topic in group.definition.by_topic}
    return Rebuild(group.definition, at.marker, at.logs, advances, log_of(at.outcomes))
