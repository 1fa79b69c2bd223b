"""`flagfall up` and `down`, from outside: left running, loopback only, harmless twice, gone afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.support.machine.asking import in_time
from tests.support.machine.services import local_settings
from tests.support.machine.waiting import patient, wait_for


def test_up_is_left_running_on_loopback_and_down_stops_all_of_it(tmp_path: Path) -> None:
    environment = os.environ | local_settings(tmp_path).environment()
    try:
        told = _flagfall(environment, "up", "--json")
        again = _flagfall(environment, "up", "--json")
        assert again == told
        assert len(told["workers"]) == 2
        for url in told["workers"]:
            with in_time("the worker answers"):
                answer = httpx.get(f"{url}/readyz", timeout=patient(10), trust_env=False)
            assert answer.status_code == httpx.codes.OK
        listening = _listening(_processes(tmp_path))
        assert len(listening) >= 5, listening  # broker, controller, registry, two workers
        assert {address for address, _ in listening} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}, listening
    finally:
        _flagfall(environment, "down", "--json")
    assert _processes(tmp_path) == []
    assert _flagfall(environment, "down", "--json") == {"stopped": []}


@pytest.mark.parametrize("begun", ["kafka*.json", "worker-1*.json"])
def test_up_that_is_killed_half_way_leaves_nothing_behind(tmp_path: Path, begun: str) -> None:
    environment = os.environ | local_settings(tmp_path).environment()
    with (tmp_path / "up.log").open("wb") as log:
        up = subprocess.Popen(
            [sys.executable, "-m", "app.edge.cli.main", "up"], env=environment, stdout=log, stderr=log
        )
        try:
            wait_for(lambda: any(tmp_path.rglob(begun)) or up.poll() is not None, f"{begun} is there")
            assert up.poll() is None, (tmp_path / "up.log").read_text()
        finally:
            up.kill()
            up.wait()
    wait_for(lambda: _processes(tmp_path) == [], "everything that it started has ended")


def _flagfall(environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "app.edge.cli.main", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def _processes(folder: Path) -> list[psutil.Process]:
    """Running processes that were started with the directory as their data directory."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("FLAGFALL_DATA_DIR") == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def _listening(processes: list[psutil.Process]) -> set[tuple[str, int]]:
    return {
        (connection.laddr.ip, connection.laddr.port)
        for process in processes
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
