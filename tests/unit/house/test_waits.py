"""What is tried once more was late, and nothing else: no wait for equal figures, none for a worker that has ended.

A doubled figure never becomes equal, and would be told as something that came too late.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path

import httpx
import pytest
from confluent_kafka import KafkaError, KafkaException

from app.base.settings import Settings
from tests.drills.world import fleet
from tests.drills.world.fleet import Fleet
from tests.support.machine import newcomer
from tests.support.machine.asking import in_time, results
from tests.support.machine.newcomer import Shell, and_then
from tests.support.machine.waiting import NotInTime
from tests.support.machine.workers import Worker

TESTS = Path(__file__).parents[2]
WAITING = {"wait_for", "seconds_until", "wait"}
WRITTEN = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Attribute)


def test_no_wait_compares_what_was_found_with_what_was_worked_out() -> None:
    """A position or a count is waited for (`>=`), and compared after that."""
    places = [f"{path}:{at}" for path in sorted(TESTS.rglob("*.py")) for at in worked_out(path.read_text("utf-8"))]
    assert places == []


@pytest.mark.parametrize(
    "waiting",
    [
        "wait_for(lambda: told(on) == expected, 'all is told')",
        "wait_for(lambda: covers(on) and told(on) == expected, 'all is told')",
        "wait_for(lambda: len(advances(world)) == places, 'each is raised', [running])",
        "field.wait(lambda: ends(first) == ends(second), 'they are the same')",
        "wait_for(lambda: not count(topic) != count(other), 'none is lost')",
    ],
)
def test_a_wait_for_equal_figures_is_seen(waiting: str) -> None:
    assert list(worked_out(waiting)) == [1]


@pytest.mark.parametrize(
    "waiting",
    [
        "wait_for(lambda: len(advances(world)) >= places, 'each is raised')",
        "wait_for(lambda: tasks_of(one) == [0, 1, 2, 3], 'it has all tasks')",
        "wait_for(lambda: tasks_of(one) == ALL_TASKS == tasks_of(one, POOLED), 'it has all tasks')",
        "wait_for(lambda: one.get('/livez').status_code == codes.OK, 'it answers')",
        "assert told(on) == expected",
    ],
)
def test_a_wait_for_what_is_written_there_is_left_alone(waiting: str) -> None:
    assert not list(worked_out(waiting))


@pytest.mark.parametrize("mend", [False, True])
def test_a_drill_tells_a_worker_that_ended_by_itself_from_one_that_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, mend: bool
) -> None:
    monkeypatch.setattr(fleet, "LIMIT_SECONDS", 0)
    workers = Fleet(Settings.load(), tmp_path, lambda *told, **facts: None)
    monkeypatch.setattr(fleet, "Worker", started_as("sleep", "600"))
    workers.start()
    try:
        with pytest.raises(NotInTime, match="a task is owned"):
            workers.wait(lambda: False, "a task is owned", mend=mend)
        monkeypatch.setattr(fleet, "Worker", started_as("false"))
        ending = workers.start()
        with pytest.raises(AssertionError, match="worker-2 has ended with 1") as told:
            workers.wait(lambda: ending.process.wait() == 0, "a task is owned", mend=mend)
        assert not isinstance(told.value, NotInTime)
    finally:
        workers.end()


def test_what_nobody_answers_in_time_is_late_whatever_a_client_calls_it() -> None:
    for late in (TimeoutError(), httpx.ReadTimeout(""), subprocess.TimeoutExpired("up", 1), _kafka("_TRANSPORT")):
        with pytest.raises(NotInTime, match="it is told"), in_time("it is told"):
            raise late
    for fault in (httpx.ConnectError(""), _kafka("_AUTHENTICATION"), AssertionError()):
        with pytest.raises(type(fault)) as told, in_time("it is told"):
            raise fault
        assert told.value is fault
    with pytest.raises(NotInTime):
        results([Future[int]()], "it is told", seconds=0)


def test_a_command_without_an_end_is_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newcomer, "COMMAND_SECONDS", 0.2)
    shell = Shell(tmp_path, {"PATH": "/usr/bin:/bin"}, tmp_path / "shell.log")
    with closing(shell), pytest.raises(NotInTime, match="exec sleep 600 has not ended"):
        shell.type("exec sleep 600")


def test_what_failed_first_is_told_and_what_failed_as_it_was_cleared_away_stands_beside_it(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin"}
    with pytest.raises(KeyError) as first, and_then("exit 3", tmp_path, environment):
        raise KeyError("the verdict")
    assert first.value.__notes__[0].startswith("after that, exit 3 ended with 3")
    with pytest.raises(AssertionError, match="exit 3 ended with 3"), and_then("exit 3", tmp_path, environment):
        pass


def _kafka(name: str) -> KafkaException:
    return KafkaException(KafkaError(getattr(KafkaError, name)))


def started_as(*command: str) -> Callable[..., Worker]:
    """A class of workers that are another program."""
    return partial(Worker, command=command)


def worked_out(text: str) -> Iterator[int]:
    """Lines in a wait's condition where no side of `==` or `!=` is written out or a constant."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Lambda(body=body), *_]):
                if name in WAITING:
                    compared = (one for one in ast.walk(body) if isinstance(one, ast.Compare))
                    yield from (one.lineno for one in compared if _is_worked_out(one))


def _is_worked_out(node: ast.Compare) -> bool:
    if not any(isinstance(one, ast.Eq | ast.NotEq) for one in node.ops):
        return False
    sides = (node.left, *node.comparators)
    return not any(isinstance(one, WRITTEN) or (isinstance(one, ast.Name) and one.id.isupper()) for one in sides)
