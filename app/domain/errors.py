"""What can be wrong with a definition or a state; each says what to do.

FlagfallError
├── DefinitionError    a view or source says something impossible: mend the definition
├── LayoutError        stored bytes of another layout: use the version that wrote them, or rebuild
└── StateError         a state and its log disagree: the task must stop, not guess
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import ClassVar


class FlagfallError(Exception):
    """Base of every error that flagfall raises on purpose; its text is fit to show a user. `exit_code`: of a command
    that ends with it."""

    exit_code: ClassVar[int] = 1


class DefinitionError(FlagfallError):
    """Every mistake of a definition at once, one line each."""

    def __init__(self, what: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{what}:\n" + "\n".join(f"  - {problem}" for problem in problems))


class LayoutError(FlagfallError):
    """Stored bytes do not follow the layout this version reads."""


class StateError(FlagfallError):
    """A task's state and the log do not fit together (a gap, another topic, log start beyond the state)."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to append to a message, such as `; did you mean 'fare_cents'?`; nothing if no name is near."""
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
