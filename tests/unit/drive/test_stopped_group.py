"""Nothing is written in a worker's place while one may run."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.base.kafka.group_members import GroupSilent, Member
from app.engine.drive.ownership import mending
from app.engine.drive.ownership.mending import StoppedGroup, WorkersRun


def group_of(*answers: list[Member] | GroupSilent) -> StoppedGroup:
    """A group without tasks whose members are told so, the last answer for ever."""
    left = [*answers]

    def members() -> list[Member]:
        answer = left.pop(0) if left[1:] else left[0]
        if isinstance(answer, GroupSilent):
            raise answer
        return answer

    definition = cast(Any, SimpleNamespace(application="flagfall", name="rides"))
    return StoppedGroup(definition, cast(Any, None), cast(Callable[[], list[Member]], members), 0)


async def hold(group: StoppedGroup) -> bool:
    async with group.held():
        return True


async def test_a_group_without_members_is_held() -> None:
    assert await hold(group_of([]))


async def test_members_are_named() -> None:
    with pytest.raises(WorkersRun, match=r"1 worker is in the group flagfall: http://one:18081 at 10\.0\.0\.1"):
        await hold(group_of([Member("http://one:18081", "10.0.0.1")]))


async def test_a_silent_coordinator_is_asked_again() -> None:
    silent = GroupSilent("not told")
    assert await hold(group_of(silent, silent, []))
    with pytest.raises(WorkersRun):
        await hold(group_of(silent, [Member("one", "10.0.0.1")]))


async def test_a_coordinator_that_stays_silent_says_nothing_of_who_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mending, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(GroupSilent):
        await hold(group_of(GroupSilent("not told")))
