"""The pages for who comes from elsewhere as they are tried: what is typed, where, and what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.base.addresses import LOOPBACK
from app.base.settings import Settings
from app.definitions.load import catalogue_of
from app.rides.zones import zones
from tests.support.machine.asking import in_time
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import Worker, environment_of
from tests.support.machine.world import covers, ready_worker
from tests.support.pages.coming_from import Block, own

BROKER, DOOR = f"{LOOPBACK}:19092", f"{LOOPBACK}:18081"
"""Where the pages have them; a test's own stand in for both."""
STOOD_IN_FOR = ("flagfall services up", "flagfall worker &")


@dataclass(frozen=True)
class Tried:
    """A folder with the definitions of all pages, on a test's broker, with its worker."""

    settings: Settings
    folder: Path
    worker: Worker

    def typed(self, block: Block) -> str:
        """What it prints, in a shell or in Python."""
        return _typed(block, self.settings, self.folder, self.worker.port)

    def refused(self, block: Block) -> str:
        """What it says as it ends with 1."""
        ran = _ran(block, self.settings, self.folder, self.worker.port)
        assert ran.returncode == 1, f"{block}\n{ran.stdout}\n{ran.stderr}"
        return ran.stderr

    def rows(self, view: str) -> list[dict[str, Any]]:
        """As many as one page holds."""
        answer = self.worker.get(f"/v1/views/{view}/rows", limit=10_000).json()
        assert answer["meta"]["next_cursor"] is None
        return answer["data"]

    def await_all_counted(self) -> None:
        """By every view, of all that is in the topics; and zones have their names."""
        views = catalogue_of(self.settings).views
        wait_for(
            lambda: all(covers(self.settings, self.worker, view) for view in views),
            "all rides are covered",
            [self.worker],
        )
        wait_for(lambda: self._named_to() >= len(zones()), "zones are named", [self.worker])

    def _named_to(self) -> int:
        told = self.worker.get("/v1/views/zone_demand/rows", limit=1).json()["meta"]["zones"]
        return told["next_offset"] or 0


@contextmanager
def tried(world: Settings, folder: Path) -> Iterator[Tried]:
    """What each page needs was typed: rides are written, and a worker is ready."""
    definitions = folder / "definitions.toml"
    definitions.write_text("\n".join(one.text for one in own("toml")), "utf-8")
    settings = world.model_copy(update={"definitions": definitions})
    (needed,) = own("bash", "README")
    lines = needed.text.splitlines()
    assert set(STOOD_IN_FOR) < set(lines)
    left = "\n".join(line for line in lines if line not in STOOD_IN_FOR)
    _typed(needed._replace(text=left), settings, folder, settings.worker.http_port)
    with ready_worker(settings, folder, FLAGFALL_BRANCHES="true") as started:
        yield Tried(settings, folder, started)


def placed(text: str, settings: Settings, port: int) -> str:
    """With the test's own addresses."""
    return text.replace(BROKER, settings.kafka.bootstrap_server).replace(DOOR, f"{LOOPBACK}:{port}")


def _typed(block: Block, settings: Settings, folder: Path, port: int) -> str:
    ran = _ran(block, settings, folder, port)
    assert ran.returncode == 0, f"{block}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def _ran(block: Block, settings: Settings, folder: Path, port: int) -> subprocess.CompletedProcess[str]:
    text = placed(block.text, settings, port)
    in_shell = " && ".join(text.splitlines())
    command = [sys.executable, "-c", text] if block.kind == "python" else ["bash", "-uc", in_shell]
    ours = environment_of(settings) | {"FLAGFALL_WORKER_HTTP_PORT": str(port), "COLUMNS": "200"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with in_time(f"{block.page}: {text}"):
        return subprocess.run(
            command,
            cwd=folder,
            env=os.environ | ours | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=patient(120),
            check=False,
        )
