"""A failing history made small: steps, then single records, are left out as long as something is still wrong.

What is left is written as a selection: `0,4-6,9:0+2` are steps 0, 4, 5, 6, and step 9 with its first and third record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.domain.errors import FlagfallError
from app.testkit.simulation.script import Script
from app.testkit.simulation.steps import Produce, Step


class SelectionError(FlagfallError):
    """A text that selects no steps of a history."""


class Kept(NamedTuple):
    """A step that stays; `samples` are the records of it that stay, None for all."""

    number: int
    samples: tuple[int, ...] | None = None


KeptSteps = tuple[Kept, ...]


def shrink(script: Script, fails: Callable[[Script], bool], most_tries: int = 600) -> KeptSteps:
    """A small selection of the script's steps that still fails; `script` itself must fail."""
    tries = _Tries(script, fails, most_tries)
    kept: KeptSteps = tuple(Kept(number) for number in range(len(script.steps)))
    size = len(kept)
    while size >= 1:
        shorter = _without_chunks(kept, size, tries)
        size = size // 2 if len(shorter) == len(kept) else min(size, len(shorter))
        kept = shorter
    for at, (number, _) in enumerate(kept):
        step = script.steps[number]
        if isinstance(step, Produce):
            kept = _with_fewer_samples(kept, at, len(step.samples), tries)
    return kept


def selected(script: Script, selection: KeptSteps) -> Script:
    """The script with nothing but these steps and records. SelectionError if it has not so many."""
    beyond = [kept.number for kept in selection if kept.number >= len(script.steps)]
    if beyond:
        raise SelectionError(f"step {beyond[0]}: seed {script.seed} has steps 0 to {len(script.steps) - 1}")
    for number, samples in selection:
        _require_samples(script, number, samples or ())
    return replace(script, steps=tuple(_cut(script.steps[kept.number], kept.samples) for kept in selection))


def selection_text(selection: KeptSteps) -> str:
    """The selection as a user writes it."""
    parts: list[str] = []
    run: list[int] = []
    for number, samples in (*selection, Kept(-2)):
        if run and (samples is not None or number != run[-1] + 1):
            parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
            run = []
        if samples is not None:
            parts.append(f"{number}:{'+'.join(map(str, samples))}")
        elif number >= 0:
            run.append(number)
    return ",".join(parts)


def read_selection(text: str) -> KeptSteps:
    """Inverse of `selection_text`; SelectionError if it is none."""
    kept: list[Kept] = []
    for part in text.split(",") if text else ():
        try:
            kept += _read_part(part)
        except ValueError:
            raise SelectionError(f"{part!r} is none of 4, 4-6, and 9:0+2") from None
    return tuple(kept)


def _read_part(part: str) -> list[Kept]:
    if ":" in part:
        number, samples = part.split(":")
        return [Kept(int(number), tuple(int(sample) for sample in samples.split("+")))]
    first, dash, last = part.partition("-")
    numbers = range(int(first), int(last if dash else first) + 1)
    if not numbers:
        raise SelectionError(f"{part!r} ends before it begins: {last}-{first} are those steps")
    return [Kept(number) for number in numbers]


class _Tries:
    def __init__(self, script: Script, fails: Callable[[Script], bool], most: int) -> None:
        self._script, self._fails, self._left = script, fails, most

    def fails(self, selection: KeptSteps) -> bool:
        """Whether the selection fails; False when there are no tries left, so that what was found so far stays."""
        self._left -= 1
        return self._left >= 0 and self._fails(selected(self._script, selection))


def _without_chunks(kept: KeptSteps, size: int, tries: _Tries) -> KeptSteps:
    at = 0
    while at < len(kept):
        shorter = kept[:at] + kept[at + size :]
        if shorter and tries.fails(shorter):
            kept = shorter
        else:
            at += size
    return kept


def _with_fewer_samples(kept: KeptSteps, at: int, count: int, tries: _Tries) -> KeptSteps:
    samples = tuple(range(count))
    for sample in range(count):
        fewer = tuple(s for s in samples if s != sample)
        shorter = (*kept[:at], Kept(kept[at].number, fewer), *kept[at + 1 :])
        if fewer and tries.fails(shorter):
            kept, samples = shorter, fewer
    return kept


def _require_samples(script: Script, number: int, samples: Sequence[int]) -> None:
    step = script.steps[number]
    there = len(step.samples) if isinstance(step, Produce) else 0
    beyond = [sample for sample in samples if not 0 <= sample < there]
    if beyond:
        raise SelectionError(
            f"{number}:{beyond[0]}: step {number} of seed {script.seed} has {there} records, from 0 on"
        )


def _cut(step: Step, samples: Sequence[int] | None) -> Step:
    if samples is None or not isinstance(step, Produce):
        return step
    return step._replace(samples=tuple(step.samples[at] for at in samples))
