"""Watches a process while it works: py-spy looks at its stacks, the kernel tells what each thread has used."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.flame.stacks import Sampled, Thread, read_samples

LOOKS_A_SECOND = 250
PY_SPY = Path(sys.executable).with_name("py-spy")
HOW = ("--format", "raw", "--threads", "--nolineno", "--nonblocking", "--rate", str(LOOKS_A_SECOND))
"""Without a pause: stopped for each look, a worker of forty threads was three times slower, and idle ones woke up."""
BEGUN = "Sampling process"
STOP_SECONDS = 60.0


class Watch:
    """What was seen of a process; filled when the watching ends. A thread that had ended by then is not in it."""

    def __init__(self) -> None:
        self.samples: list[Sampled] = []
        self.threads: dict[int, Thread] = {}


@contextlib.contextmanager
def watched(process_id: int) -> Iterator[Watch]:
    """Looks until the block ends, from the core on which this program runs."""
    watch = Watch()
    with tempfile.NamedTemporaryFile("r") as file:
        command = [str(PY_SPY), "record", "--pid", str(process_id), *HOW, "--output", file.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as spy:
            try:
                _await_beginning(spy)
                before = threads_of(process_id)
                yield watch
                after = threads_of(process_id)
            finally:
                spy.send_signal(signal.SIGINT)
                said, _ = spy.communicate(timeout=STOP_SECONDS)
        if spy.returncode:
            raise SystemExit(f"py-spy ended with {spy.returncode}: {said}")
        watch.samples = read_samples(file)
    used = {thread: before[thread].cpu_seconds if thread in before else 0.0 for thread in after}
    watch.threads = {number: Thread(one.name, one.cpu_seconds - used[number]) for number, one in after.items()}


def threads_of(process_id: int) -> dict[int, Thread]:
    """All threads of a process by the kernel's number, each with its processor time so far."""
    found = {}
    for folder in Path(f"/proc/{process_id}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            used_ns, *_ = (folder / "schedstat").read_text().split()
            name = (folder / "comm").read_text().strip()
            found[int(folder.name)] = Thread(name, int(used_ns) / 1e9)
    return found


def _await_beginning(spy: subprocess.Popen[str]) -> None:
    assert spy.stdout is not None
    said = []
    for line in spy.stdout:
        if BEGUN in line:
            return
        said.append(line)
    raise SystemExit(f"py-spy does not begin; it may have to be root, or need CAP_SYS_PTRACE: {''.join(said)}")
