"""Which part of a worker a stack was at work in, by the modules that it has gone through."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.flame.stacks import Frame, Stack

FETCH, DECODE, FOLD = "fetch and unpack", "decode", "fold and merge"
CLOSE, WRITE, LOOP, OTHER = "close and make finals", "write changelog and produce", "event loop and Faust", "other"
PARTS: tuple[str, ...] = (FETCH, DECODE, FOLD, CLOSE, WRITE, LOOP, OTHER)

OF_MODULES: Mapping[str, str] = {
    "aiokafka.consumer": FETCH,
    "app.engine.drive.kafka.fetch": FETCH,
    "app.engine.drive.kafka.kept_batches": FETCH,
    "mode.threads.ServiceThread._start_thread": FETCH,  # the consumer's own loop, which reads from its sockets
    "app.codecs.avro": DECODE,
    "app.engine.core.records": DECODE,
    "app.engine.core": FOLD,
    "app.engine.drive.waiting": FOLD,
    "app.engine.core.results": CLOSE,
    "app.engine.core.views.ended": CLOSE,
    "app.engine.core.views.expiry": CLOSE,
    "aiokafka.producer": WRITE,
    "app.codecs.stored.changelog": WRITE,
    "app.engine.core.draft": WRITE,
    "app.engine.drive.transactions.writer": WRITE,
    "app.engine.drive.transactions.written_batch": WRITE,
    "agents": LOOP,
    "app.edge": LOOP,
    "app.engine.drive": LOOP,
    "concurrent.futures": LOOP,
    "faust": LOOP,
    "mode": LOOP,
    "threading": LOOP,
}
"""The part of a package, a module or a call, for which no longer name stands here."""
FOR_ITS_CALLER = ("app.engine.core.batch", "app.engine.core.cells", "app.engine.core.kinds", "app.engine.core.rows")
"""What folds and closes alike, and so has no part of its own."""


def part_of_call(frame: Frame) -> str | None:
    """By the longest name that is the call's, its module's or its package's; None for what works for its caller."""
    name = str(frame)
    while name:
        if name in FOR_ITS_CALLER:
            return None
        if name in OF_MODULES:
            return OF_MODULES[name]
        name, _, _ = name.rpartition(".")
    return None


def part_of(stack: Stack) -> str:
    """Of the call that was at work."""
    return part_of_call(at_work(stack)) or OTHER


def at_work(stack: Stack) -> Frame:
    """The innermost call that has a part: NumPy works for the fold that has called it."""
    return next((frame for frame in reversed(stack) if part_of_call(frame)), stack[0])


def seconds_by_part(stacks: Mapping[Stack, float]) -> dict[str, float]:
    """All parts in their order, those without a sample too."""
    seconds = dict.fromkeys(PARTS, 0.0)
    for stack, used in stacks.items():
        seconds[part_of(stack)] += used
    return seconds


def shares(stacks: Mapping[Stack, float]) -> dict[str, float]:
    """Of all processor time, by part, in per cent; they add up to a hundred."""
    seconds = seconds_by_part(stacks)
    whole = sum(seconds.values())
    return {part: 100 * used / whole for part, used in seconds.items()}


def heaviest(stacks: Mapping[Stack, float], part: str, count: int) -> dict[str, float]:
    """The calls of a part that have used most, with their seconds; what works for them is theirs."""
    seconds: dict[str, float] = {}
    for stack, used in stacks.items():
        if part_of(stack) == part:
            name = str(at_work(stack))
            seconds[name] = seconds.get(name, 0.0) + used
    return dict(sorted(seconds.items(), key=lambda item: -item[1])[:count])
