"""Gives the tasks of stopped groups more partitions (`app.engine.core.mending.widening`).

The tasks that are there are told before any topic grows: a worker that is started half way meets them, and refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from app.engine.core.mending.widening import begin, is_wide, tell_count
from app.engine.drive.ownership.mending import StoppedGroup
from app.engine.drive.questions import Check


async def are_wide(groups: Sequence[StoppedGroup]) -> Mapping[str, bool]:
    """By name of the group, whether its tasks know how many they are; `groups` have as many as their changelogs now."""
    markers = [await group.markers() for group in groups]
    return {one.definition.name: is_wide(one.definition, told) for one, told in zip(groups, markers, strict=True)}


async def widen(groups: Sequence[StoppedGroup], grow_topics: Check, widened: Sequence[StoppedGroup]) -> None:
    """Do it, or go on with what was broken off.

    `groups` have as many tasks as their changelogs have partitions, `widened` as many as there will be, once
    `grow_topics` was called. WorkersRun if the consumer group has members; StateError before anything is changed where
    a task cannot be told.
    """
    await _tell(groups)
    await asyncio.to_thread(grow_topics)
    for group in widened:
        await _begin(group)


async def _tell(groups: Sequence[StoppedGroup]) -> None:
    async with AsyncExitStack() as stack:
        held = [(await stack.enter_async_context(group.held()), group) for group in groups]
        told = [
            (write, partition, tell_count(group.definition, marker))
            for write, group in held
            for partition, marker in (await group.markers()).items()
        ]
        for write, partition, transaction in told:
            if transaction is not None:
                await write(partition, transaction)


async def _begin(group: StoppedGroup) -> None:
    async with group.held() as write:
        markers = await group.markers()
        if is_wide(group.definition, markers):
            return
        changelog_id, inputs = await group.changelog_id(), await group.inputs()
        for partition in sorted(inputs.keys() - markers.keys()):
            starts = {topic: given.at_start() for topic, given in inputs[partition].items()}
            await write(partition, begin(group.definition, partition, starts, list(markers.values()), changelog_id))
