"""One caller keeps no other out: it leaves places free, and in line callers take turns."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.access_settings import AccessSettings
from app.base.files.keys import new_key, write_keys
from app.base.scopes import KeyScope
from app.base.setting_groups import HttpSettings
from app.edge.http.entry.admission import ADMISSION, Admission, Gate, StreamGate
from app.edge.http.entry.turns import Turns
from app.edge.http.problems import Problem
from app.edge.http.route import SEARCHES, SENT_ON, STATEMENTS, STREAMS, WORKERS
from app.rides.views import ZONE_DEMAND
from tests.support.following.follower import CHANGES, THREE, directory_of
from tests.support.http import server_of

PATIENCE_SECONDS = 60.0
CALLERS = st.sampled_from("abcd")


async def came_in(gate: Gate, callers: str) -> str:
    """In which order these come in, who come one after the other and stay for a moment."""
    came: list[str] = []

    async def visit(caller: str) -> None:
        async with gate.entered(caller):
            came.append(caller)
            await asyncio.sleep(0)

    await asyncio.gather(*(visit(caller) for caller in callers))
    return "".join(came)


@pytest.mark.parametrize("shared", [True, False])
async def test_at_one_place_callers_take_turns_however_many_one_has_in_line(*, shared: bool) -> None:
    gate = Gate(1, 100, PATIENCE_SECONDS, None, shared=shared)
    assert await came_in(gate, "aaaabbc") == "abcabaa"


async def test_who_has_none_inside_goes_before_who_has_one() -> None:
    turns = Turns(3, 10, shared=False)
    assert all(map(turns.take, "aab"))
    lined = {caller: turns.line_up(caller) for caller in "abc"}
    turns.leave("a")
    assert [caller for caller, place in lined.items() if place and place.done()] == ["c"]
    turns.leave("b")
    assert [caller for caller, place in lined.items() if place and place.done()] == ["b", "c"]


async def test_alone_a_caller_has_half_and_others_have_of_what_it_left() -> None:
    gate = StreamGate(8, shared=True)
    async with AsyncExitStack() as opened:
        for caller, wanted in {"a": 4, "b": 2, "c": 1, "d": 1}.items():
            for _ in range(wanted):
                await opened.enter_async_context(gate.entered(caller))
            with pytest.raises(Problem, match="requests of one caller" if caller != "d" else "as many requests as"):
                await gate.entered(caller).__aenter__()
    assert (gate.inside, gate.refused) == (0, {"queue-full": 4})


async def test_the_line_has_room_for_somebody_else_too() -> None:
    turns = Turns(1, 4, shared=True)
    assert turns.take("a")
    assert [turns.line_up(caller) is not None for caller in "aaab"] == [True, True, False, True]


async def test_a_place_that_comes_as_its_caller_leaves_is_the_next_ones() -> None:
    gate = Gate(1, 10, PATIENCE_SECONDS, None)
    async with AsyncExitStack() as first:
        await first.enter_async_context(gate.entered("a"))
        leaves = asyncio.create_task(came_in(gate, "b"))
        stays = asyncio.create_task(came_in(gate, "c"))
        while gate.waiting < 2:
            await asyncio.sleep(0)
    leaves.cancel()
    assert await stays == "c"
    assert (gate.inside, gate.waiting, leaves.cancelled()) == (0, 0, True)


@given(
    most=st.integers(1, 9),
    most_waiting=st.integers(0, 9),
    shared=st.booleans(),
    steps=st.lists(st.tuples(CALLERS, st.booleans()), max_size=60),
)
def test_nobody_who_may_come_in_waits(
    *, most: int, most_waiting: int, shared: bool, steps: list[tuple[str, bool]]
) -> None:
    async def run() -> None:
        turns, inside = Turns(most, most_waiting, shared=shared), Counter[str]()
        waiting: list[tuple[str, asyncio.Future[None]]] = []
        for caller, comes in steps:
            if not comes:
                if inside[caller]:
                    inside[caller] -= 1
                    turns.leave(caller)
            elif turns.take(caller):
                inside[caller] += 1
            elif (place := turns.line_up(caller)) is not None:
                waiting.append((caller, place))
            inside.update(caller for caller, place in waiting if place.done())
            waiting = [(caller, place) for caller, place in waiting if not place.done()]
            free = most - turns.inside
            assert (turns.inside, turns.waiting, free >= 0) == (inside.total(), len(waiting), True)
            assert not any(inside[caller] < free if shared else free for caller, _ in waiting)

    asyncio.run(run())


def test_workers_are_one_caller_to_one_another_and_who_is_behind_a_long_one_waits_for_it() -> None:
    gates = Admission(HttpSettings(max_seconds=8, statement_seconds=5, max_wait_seconds=1), (), shared=True).gates
    assert {name for name, gate in gates.items() if not gate._places._shared} == {WORKERS, SENT_ON}
    assert (gates[STATEMENTS]._wait_seconds, gates[SEARCHES]._wait_seconds) == (6, 9)


async def test_one_key_does_not_have_all_streams_of_a_worker(tmp_path: Path) -> None:
    keys = [new_key(name, [KeyScope.READ]) for name in ("reader", "other")]
    write_keys(tmp_path / "keys.json", {key.name: key for key, _ in keys})
    access, limits = AccessSettings(keys_file=tmp_path / "keys.json"), HttpSettings(max_streams=4)
    reader, other = ({"Authorization": f"Bearer {token}"} for _, token in keys)
    async with server_of(tmp_path, (ZONE_DEMAND,), limits, access=access) as start:
        client = await start(directory_of(THREE))
        answers = [await client.get(CHANGES, headers=shown) for shown in (reader, reader, reader, other)]
        assert [answer.status for answer in answers] == [200, 200, 429, 200]
        assert "requests of one caller" in (await answers[2].json())["detail"]
        assert client.app is not None
        assert client.app[ADMISSION].gates[STREAMS].inside == 3
        for answer in answers:
            answer.close()
