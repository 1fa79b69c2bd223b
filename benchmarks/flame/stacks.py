"""Stacks as py-spy writes them down, each with the processor time for which it stands."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

THREAD = re.compile(r"thread \((\d+)\)(?:: (.*))?")
POOLED = re.compile(r"[_-]\d+$")
"""What tells the threads of a pool apart."""


class Frame(NamedTuple):
    """A call. `module` is dotted, and empty for what is no Python: a thread, or what a library does by itself."""

    function: str
    module: str = ""

    def __str__(self) -> str:
        return f"{self.module}.{self.function}" if self.module else self.function


Stack = tuple[Frame, ...]
"""From the outermost call to the one that was at work; the first frame is the thread's name."""


class Sampled(NamedTuple):
    """A stack that was met so often in a thread, which the kernel knows by a number."""

    thread_id: int
    stack: Stack
    times: int


class Thread(NamedTuple):
    """What the kernel tells of a thread: its name, and the processor time that it has used meanwhile."""

    name: str
    cpu_seconds: float


def read_samples(lines: Iterable[str]) -> list[Sampled]:
    """Of py-spy's `raw` format, with threads and without numbers of lines. ValueError for another one."""
    return [_read(line) for line in lines if line.strip()]


def weighed(samples: Iterable[Sampled], threads: Mapping[int, Thread]) -> dict[Stack, float]:
    """Seconds of the processor by stack, all threads together.

    A thread's own time is spread over its samples: one that waits for a core is met as often as one that has it. What
    a thread has used that was never met, as it runs no Python, stands under the name that the library gave it.
    """
    kept, met, seconds = list(samples), Counter[int](), defaultdict[Stack, float](float)
    for sample in kept:
        met[sample.thread_id] += sample.times
    for sample in kept:
        if sample.thread_id in threads:
            share = sample.times / met[sample.thread_id]
            seconds[sample.stack] += share * threads[sample.thread_id].cpu_seconds
    for thread_id, thread in threads.items():
        if thread_id not in met and thread.cpu_seconds:
            seconds[(Frame(_pool(thread.name)),)] += thread.cpu_seconds
    return dict(seconds)


def _read(line: str) -> Sampled:
    stack, _, count = line.strip().rpartition(" ")
    thread, *calls = stack.split(";")
    found = THREAD.fullmatch(thread)
    if found is None:
        raise ValueError(f"no thread begins the stack {line!r}")
    return Sampled(int(found[1]), (Frame(_pool(found[2] or "unnamed")), *map(_frame, calls)), int(count))


def _frame(text: str) -> Frame:
    """Of `function (package/module.py)`."""
    function, _, file = text.removesuffix(")").rpartition(" (")
    path = file.removeprefix("<frozen ").removesuffix(">").removesuffix(".py").removesuffix("/__init__")
    return Frame(function, path.replace("/", "."))


def _pool(name: str) -> str:
    return POOLED.sub("", name)
