"""What the gate says at its end, on the screen and in `gate.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from scripts.gate.screen import say
from scripts.gate.stages import Ran
from scripts.gate.words import LINES

MOST_LEFT = 3
"""Processes that are told of; gate.json has them all."""


@dataclass
class Outcome:
    """Of one run; `strangers`: what ran on the machine beside it."""

    folder: Path
    strangers: Sequence[str]
    ran: list[Ran] = field(default_factory=list)
    at: str = ""
    """The stage that it is at."""

    def tell_strangers(self) -> None:
        """At the beginning: they share the processors."""
        for stranger in self.strangers:
            say(f"gate: runs here too: {stranger}")

    def begin(self, stage: str, how: str = "") -> None:
        """The stage runs from now on."""
        self.at = stage
        say("", f"gate: {stage}{how}")

    def green(self, lines: list[str]) -> int:
        """`lines`: what is to be known though nothing is red."""
        self._keep("green", 0, lines)
        say("", *self._times(), *self._left(), *lines, "gate: green")
        return 0

    def red(self, where: str, code: int, lines: list[str]) -> int:
        """Gives the code. `lines`: what it was, the most important first."""
        return self._end(f"RED in {where}", where, code, lines)

    def stopped(self, by: str, code: int, lines: list[str]) -> int:
        """The same for a gate that was told to stop."""
        return self._end(f"stopped by {by}" + (f" in {self.at}" if self.at else ""), f"stopped by {by}", code, lines)

    def _end(self, how: str, verdict: str, code: int, lines: list[str]) -> int:
        told = [f"gate: {how}, exit code {code}; everything is in {self.folder}", *lines]
        try:
            self._keep(verdict, code, lines)
        except OSError as error:
            told.append(f"  and gate.json could not be written: {error}")
        say(*["", *self._times(), *self._left(), *told][: LINES + 1])
        return code

    def _times(self) -> list[str]:
        took = [f"{r.name} {r.wall_seconds:.0f} s ({r.processor_seconds:.0f} s cpu)" for r in self.ran]
        return [f"gate: {', '.join(took)}"] if took else []

    def _left(self) -> list[str]:
        left = [line for ran in self.ran for line in ran.left_running]
        return [f"gate: tests have left running, and the gate has ended: {line}" for line in left[:MOST_LEFT]]

    def _keep(self, verdict: str, code: int, lines: list[str]) -> None:
        summary = {
            "verdict": verdict,
            "exit_code": code,
            "stages": [asdict(r) for r in self.ran],
            "lines": lines,
            "strangers": list(self.strangers),
        }
        (self.folder / "gate.json").write_text(json.dumps(summary, indent=2) + "\n")
