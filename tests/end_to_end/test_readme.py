"""The README's commands, from a new clone in a directory with a space in its name."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.support.machine.asking import in_time
from tests.support.machine.left_running import await_nothing_left
from tests.support.machine.newcomer import (
    Shell,
    and_then,
    block,
    copy_checkout,
    newcomer_environment,
    run_to_end,
    said_of,
)
from tests.support.machine.waiting import patient, wait_for

ROWS = "/v1/views/zone_demand/rows?zone=132&limit=1"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Set up as `make setup` does it."""
    folder = tmp_path_factory.mktemp("newcomer")
    made = copy_checkout(folder)
    run_to_end("make setup", made, newcomer_environment(folder))
    return made


@pytest.mark.spark
def test_two_commands_show_it_and_leave_it_running(clone: Path, tmp_path: Path) -> None:
    demo, up = block("Two commands")
    assert (demo, up) == ("make demo", "make up")
    environment = newcomer_environment(tmp_path)
    run_to_end(demo, clone, environment)
    facts = json.loads((clone / "build" / "demo.json").read_text())
    assert (facts["verdict"], facts["rides"]) == ("MATCH", 200_000)
    await_nothing_left(clone)
    with and_then(said_of("stops them"), clone, environment):
        said = run_to_end(up, clone, environment)
        (page,) = re.findall(r"^page +(\S+)$", said, re.MULTILINE)
        with in_time("the page and the rows are shown"):
            shown = httpx.get(page, timeout=patient(10), trust_env=False)
            answer = httpx.get(f"{page}v1/views/zone_demand/rows", timeout=patient(10), trust_env=False)
        assert shown.is_success
        assert "flagfall" in shown.text
        assert answer.is_success, answer.text
        assert answer.json()["data"] == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(page, timeout=patient(10), trust_env=False)


@pytest.mark.spark
def test_step_by_step_ends_with_match(clone: Path, tmp_path: Path) -> None:
    environment = newcomer_environment(tmp_path)
    worker = f"http://127.0.0.1:{environment['FLAGFALL_WORKER_HTTP_PORT']}"
    shell = Shell(clone, environment, tmp_path / "shell.log")
    said = {}
    commands = block("Step by step")
    on_path = environment | {"PATH": f"{clone / '.venv/bin'}:{environment['PATH']}"}
    with and_then(commands[-1], clone, on_path), closing(shell):
        for command in commands:
            if command.startswith("flagfall query"):
                wait_for(lambda: "JFK Airport" in _said_at(f"{worker}{ROWS}"), "rides from there are counted")
            said[command] = shell.type(command)
            if command.endswith("&"):
                wait_for(lambda: bool(_said_at(f"{worker}/readyz")), "the worker answers")
    (rows,) = (text for command, text in said.items() if command.startswith("flagfall query"))
    assert re.search(r"zone_name +JFK Airport$|│ JFK Airport +│", rows, re.MULTILINE), rows
    assert re.search(r"\bMATCH\b", said["flagfall reconcile"])
    (zones,) = (text for command, text in said.items() if command.startswith("flagfall sql"))
    assert re.search(r"^ *132 +JFK Airport +\d{4}$", zones, re.MULTILINE), zones
    assert len(zones.splitlines()) == 11, zones
    assert len(commands) == len(said) == 9


@pytest.mark.parametrize("command", ["make help", "make", "make drill DRILL=list"])
def test_what_lists_things_lists_them(clone: Path, tmp_path: Path, command: str) -> None:
    assert len(run_to_end(command, clone, newcomer_environment(tmp_path)).splitlines()) > 10


def _said_at(url: str) -> str:
    """A good answer; nothing where there is none."""
    try:
        answer = httpx.get(url, timeout=patient(10), trust_env=False)
    except httpx.HTTPError:
        return ""
    return answer.text if answer.is_success else ""
