"""The README's commands, from a new clone in a directory with a space in its name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from tests.support.machine.left_running import await_nothing_left
from tests.support.machine.newcomer import Shell, block, copy_checkout, newcomer_environment, run_to_end
from tests.support.machine.waiting import patient, wait_for


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
    try:
        said = run_to_end(up, clone, environment)
        (page,) = re.findall(r"^page +(\S+)$", said, re.MULTILINE)
        shown = httpx.get(page, timeout=patient(10), trust_env=False)
        assert shown.is_success
        assert "flagfall" in shown.text
        answer = httpx.get(f"{page}v1/views/zone_demand/rows", timeout=patient(10), trust_env=False)
        assert answer.json()["data"] == []
    finally:
        run_to_end("make down", clone, environment)
    with pytest.raises(httpx.ConnectError):
        httpx.get(page, timeout=patient(10), trust_env=False)


@pytest.mark.spark
def test_step_by_step_ends_with_match(clone: Path, tmp_path: Path) -> None:
    environment = newcomer_environment(tmp_path)
    ready = f"http://127.0.0.1:{environment['FLAGFALL_WORKER_HTTP_PORT']}/readyz"
    shell = Shell(clone, environment, tmp_path / "shell.log")
    said = {}
    commands = block("Step by step")
    try:
        for command in commands:
            said[command] = shell.type(command)
            if command.endswith("&"):
                wait_for(lambda: _answers(ready), "the worker answers")
    finally:
        shell.end()
        run_to_end(commands[-1], clone, environment | {"PATH": f"{clone / '.venv/bin'}:{environment['PATH']}"})
    (verdict,) = (text for command, text in said.items() if command == "flagfall reconcile")
    assert "MATCH" in verdict
    assert len(commands) == len(said) == 8


@pytest.mark.parametrize("command", ["make help", "make", "make drill DRILL=list"])
def test_what_lists_things_lists_them(clone: Path, tmp_path: Path, command: str) -> None:
    assert len(run_to_end(command, clone, newcomer_environment(tmp_path)).splitlines()) > 10


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=patient(10), trust_env=False).is_success
    except httpx.HTTPError:
        return False
