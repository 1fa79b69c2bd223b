"""The workers of a drill: started, killed, frozen, told to stop; each with a log of its own."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil

from app.base.settings import Settings
from app.codecs.stored.export import ExportMetadata, read_export
from app.domain.marker import Marker
from app.engine.drive.failpoints import VARIABLE
from app.rides.views import VENDOR_TRIPS
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import tasks_of

Note = Callable[..., None]
LIMIT_SECONDS = 240.0
"""Nothing that is waited for takes so long, on a busy machine either."""
TOLD_OF = 4
"""Where every worker ends at its start, dozens of them do in a wait: the last ones' words are enough."""


class Fleet:
    """`members` are those that should be running."""

    def __init__(self, settings: Settings, folder: Path, note: Note) -> None:
        self.members: list[Worker] = []
        self._settings, self._folder, self._note = settings, folder, note
        self._started = 0
        folder.mkdir(parents=True, exist_ok=True)

    def start(self, *, failpoint: str = "", port: int | None = None, **variables: object) -> Worker:
        """One worker more, not yet ready; on any free port. `variables` go to its environment, without the prefix."""
        self._started += 1
        environment = {f"FLAGFALL_{name.upper()}": str(value) for name, value in variables.items()}
        environment["FLAGFALL_TOPICS_REPLICATION_FACTOR"] = str(self._settings.topics.replication_factor)
        if failpoint:
            environment[VARIABLE] = failpoint
        worker = Worker(self._settings, self._folder / f"worker-{self._started}.log", environment, port=port)
        self.members.append(worker)
        return worker

    def kill(self, worker: Worker) -> None:
        self._note("kill", worker=worker.log.stem)
        worker.kill()
        self.members.remove(worker)

    def freeze(self, worker: Worker) -> None:
        self._note("freeze", worker=worker.log.stem)
        worker.send(signal.SIGSTOP)

    def thaw(self, worker: Worker) -> None:
        self._note("thaw", worker=worker.log.stem)
        worker.send(signal.SIGCONT)

    def terminate(self, worker: Worker) -> None:
        """TERM; it ends when it has drained (`has_ended`)."""
        self._note("term", worker=worker.log.stem)
        worker.send(signal.SIGTERM)

    def forget(self, worker: Worker) -> None:
        """It has ended, and is not missed."""
        self.members.remove(worker)

    def wait(self, condition: Callable[[], bool], what: str, *, mend: bool = False) -> None:
        """Ask until it holds. `mend`: workers that end meanwhile are started anew.

        NotInTime if it never does; a plain AssertionError if a worker has ended by itself in that time.
        """
        concerned: list[Worker] = []

        def holds() -> bool:
            if condition():
                return True
            concerned[:] = [*concerned, *(worker for worker in self.members if worker not in concerned)][-TOLD_OF:]
            if mend:
                self.mend()
            return False

        wait_for(holds, what, concerned, LIMIT_SECONDS)

    def mend(self) -> None:
        """What a supervisor does: a member that has ended by itself is started anew."""
        for worker in [w for w in self.members if has_ended(w)]:
            self._note("ended", worker=worker.log.stem, code=worker.process.returncode)
            self.members.remove(worker)
            self.start()

    def keep(self, count: int) -> None:
        """Exactly so many, unarmed by now or not: the rest is killed, missing ones are started."""
        self.mend()
        while len(self.members) > count:
            self.kill(self.members[-1])
        while len(self.members) < count:
            self.start()

    def tasks(self, workers: Sequence[Worker] | None = None) -> list[int]:
        """Tasks that these workers (or all) own and answer for, each as often as it is claimed."""
        return sorted(task for worker in workers or self.members for task in tasks_of(worker))

    def own_all(self, workers: Sequence[Worker] | None = None) -> bool:
        """Whether these workers (or all) share all tasks, each once."""
        return self.tasks(workers) == list(range(self._settings.topics.partitions))

    def marker(self, partition: int) -> Marker | None:
        """What the owner of a task answers from now; None while nobody answers."""
        answer = self.export(VENDOR_TRIPS.name, partition)
        return None if answer is None else answer[0].marker

    def export(self, view: str, partition: int) -> tuple[ExportMetadata, Any] | None:
        """A task's rows of a view from its owner; None while nobody answers."""
        for worker in self.members:
            with contextlib.suppress(httpx.HTTPError):
                answer = worker.get(f"/v1/views/{view}/export", partition=partition)
                if answer.is_success:
                    return read_export(answer.content)
        return None

    def end(self) -> None:
        """Kill all."""
        for worker in self.members:
            worker.kill()
        self.members.clear()

    def said(self, text: str) -> bool:
        """Whether a worker's log has the text."""
        return any(text in log.read_text(errors="replace") for log in self._folder.glob("worker-*.log"))


def has_ended(worker: Worker) -> bool:
    return worker.process.poll() is not None


def is_frozen(worker: Worker) -> bool:
    """Whether the process is stopped, by a signal or by its own fail-point."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(worker.process.pid).status() == psutil.STATUS_STOPPED
    return False
