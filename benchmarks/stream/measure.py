"""One run: start a system on its core, watch what it uses, and time it from its first record to its last commit."""

from __future__ import annotations

import bisect
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from app.base.services import processes
from app.base.services.processes import Daemon
from app.domain.errors import FlagfallError
from benchmarks.stream.system import Finished, Run, System

POLL_SECONDS = 0.05
STOP_SECONDS = 20.0
LONGEST_SECONDS = 600.0
SIGNALS = ("first_record", "last_commit")
MARK = b"BENCH "
"""Programs print `BENCH first_record <Unix seconds>` when the first records are in their hands."""


class RunFailed(FlagfallError):
    """A system ended by itself, or did not end in time; the message holds the end of its log."""


@dataclass(frozen=True)
class Timing:
    """Seconds by the clock and of the processor: of the whole run, and of it from the first record on.

    Both end with the last commit.
    """

    seconds: float
    cpu_seconds: float
    seconds_from_start: float
    cpu_seconds_from_start: float


@dataclass
class CpuWatch:
    """Processor time of a process and its children, looked at often, so that it can be asked for any moment."""

    process: psutil.Process
    moments: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    _ended: dict[int, float] = field(default_factory=dict)

    def look(self) -> None:
        """Note what was used up to now; a child that is gone keeps what it had used when it was seen last."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for one in (self.process, *self.process.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    used = one.cpu_times()
                    self._ended[one.pid] = used.user + used.system
        self.moments.append(time.time())
        self.seconds.append(sum(self._ended.values()))

    def at(self, moment: float) -> float:
        """Seconds used up to a Unix time, between two looks in proportion; 0 before the first."""
        return interpolated(self.moments, self.seconds, moment)


def interpolated(moments: list[float], values: list[float], moment: float) -> float:
    """The value at a moment, linear between the two that are known beside it, and the nearest one outside of them."""
    right = bisect.bisect_left(moments, moment)
    if right == 0:
        return values[0]
    if right == len(moments):
        return values[-1]
    before, after = moments[right - 1], moments[right]
    share = (moment - before) / (after - before)
    return values[right - 1] + share * (values[right] - values[right - 1])


@dataclass
class SignalLog:
    """The signals that a program has printed to its log."""

    path: Path
    seen: dict[str, float] = field(default_factory=dict)
    _position: int = 0

    def read(self) -> dict[str, float]:
        """Every signal so far, by name. Half a line is left for the next time."""
        with self.path.open("rb") as log:
            log.seek(self._position)
            fresh = log.read()
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._position += len(whole)
        for line in whole.splitlines():
            if MARK in line:
                name, moment = line[line.index(MARK) + len(MARK) :].split()[:2]
                self.seen.setdefault(name.decode(), float(moment))
        return self.seen


def measure(system: System, run: Run, tell: Callable[[str], None]) -> Timing:
    """Run it to its last commit, then stop it. Raises RunFailed."""
    command = system.command(run)
    with _started(run, command) as process:
        watch = CpuWatch(process)
        watch.look()
        signals = _wait(process, watch, SignalLog(_log(run)), system.finished(run), tell)
        watch.look()
    started = process.create_time()
    first, last = signals["first_record"], signals["last_commit"]
    return Timing(
        seconds=last - first,
        cpu_seconds=watch.at(last) - watch.at(first),
        seconds_from_start=last - started,
        cpu_seconds_from_start=watch.at(last),
    )


def _wait(
    process: psutil.Process, watch: CpuWatch, log: SignalLog, finished: Finished | None, tell: Callable[[str], None]
) -> dict[str, float]:
    began = time.monotonic()
    while True:
        alive = process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        watch.look()
        signals = log.read()
        if finished is not None and "first_record" in signals and (last := finished()) is not None:
            signals["last_commit"] = last
        if all(name in signals for name in SIGNALS):
            return signals
        elapsed = time.monotonic() - began
        if not alive:
            raise RunFailed(f"it ended after {elapsed:.0f} s, before its last commit. {processes.tail(log.path)}")
        if elapsed > LONGEST_SECONDS:
            raise RunFailed(f"no last commit after {elapsed:.0f} s. {processes.tail(log.path)}")
        tell(f"{elapsed:.0f} s, {watch.seconds[-1]:.1f} s of the processor")
        time.sleep(POLL_SECONDS)


@contextlib.contextmanager
def _started(run: Run, command: tuple[str, ...]) -> Iterator[psutil.Process]:
    daemon = Daemon(run.name, command, _log(run), run.folder / "system.pid.json", {})
    with run.place.cores.starting():
        process = processes.start(daemon, STOP_SECONDS, run.place.owner_fd)
    try:
        yield process
    finally:
        processes.stop(daemon.pid_file, STOP_SECONDS)


def _log(run: Run) -> Path:
    return run.folder / "system.log"
