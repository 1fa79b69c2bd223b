"""What a view asks of its window: the one contract of all kinds (rule 7).

A kind is a frozen dataclass; its fields are the keys of its table in a definition file. Instants are microseconds
since the epoch, UTC; windows are half-open, `[start, end)`. What is *stored* under a start is a window, a pane that
several windows share (`overlap`), or what records of a group made of it (`merges`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from app.domain.column import Kind
from app.domain.errors import did_you_mean

if TYPE_CHECKING:
    from app.domain.measures.parts import Part
    from app.domain.source import Source
    from app.domain.windows.panes import Overlap, Panes

Self = TypeVar("Self", bound="Window")


class Window(ABC):
    """Which records share a row, and when the row takes no more of them.

    The name of a kind's class is part of the versions of its views: renamed, all their tables are built anew.
    """

    __slots__ = ()

    key: ClassVar[str]
    """Its `kind` in a definition file."""
    tag: ClassVar[int]
    """What stands for the kind in the keys of stored rows; never reused."""
    column: str | None
    """The instant by which records are placed; None where there is one window for all."""
    ends: ClassVar[bool] = True
    """Whether there are windows that end: rows have a start, records may be late, rows may leave."""
    last_cell: ClassVar[str | None] = None
    """Which cell of its `parts` holds the instant of a row's last record, where rows merge; None where none do."""

    @property
    def merges(self) -> bool:
        """Whether a record can make two rows of its group one, so that a row's start does not tell its end: two
        are one as soon as neither begins later than the other ends."""
        return self.last_cell is not None

    @property
    def panes(self) -> Panes | None:
        """What longer windows are folded from when they are asked for; None where only what is stored is answered."""
        return None

    @property
    def overlap(self) -> Overlap | None:
        """How windows lie that share what is stored; None where it is in one window alone."""
        return None

    @property
    def parts(self) -> tuple[Part, ...]:
        """What rows hold for the kind's own sake, behind count and fingerprint."""
        return ()

    @abstractmethod
    def start(self, instant_us: int) -> int:
        """The start under which a record of the instant is stored. ValueError without windows."""

    @abstractmethod
    def end(self, start_us: int, last_us: int = 0) -> int:
        """The exclusive end of the last window that holds what is stored under a start; `last_us` is the instant of a
        merging row's last record. ValueError without windows."""

    @abstractmethod
    def last_end(self, instant_us: int) -> int:
        """An instant at or before the given one by which just as many windows have ended. ValueError without any."""

    @abstractmethod
    def ended_below(self, to_us: int) -> int:
        """What is stored under starts below it, and nothing else, has ended by `to_us`. ValueError where rows merge."""

    def window_end(self, start_us: int, last_us: int = 0) -> int:
        """The exclusive end of a window by its own start, as answers and finals name it; `last_us` as for `end`."""
        return self.end(start_us, last_us)

    def is_start(self, instant_us: int) -> bool:
        """Whether something can be stored under just this start."""
        return self.start(instant_us) == instant_us

    def starts(self, from_us: int, until_us: int, most: int) -> Sequence[int] | None:
        """All starts of `[from_us, until_us)` under which something can be stored; None if they are more than `most`,
        or anywhere."""
        return None

    def span_us(self, instant_us: int) -> int:
        """How long after a record of the instant all that it alone is in has ended, as `last_end` tells it."""
        return self.window_end(self.start(instant_us)) - self.start(instant_us)

    def over(self: Self, source: Source) -> Self:
        """The window over a source's records, of whose columns it may need to know more than the name."""
        return self

    def own_problems(self, source: Source) -> Iterable[str]:
        """What is wrong with what only this kind has."""
        return ()

    def problems(self, source: Source) -> Iterable[str]:
        """What is wrong with the definition over the source; every mistake, not the first alone."""
        yield from self.own_problems(source)
        if self.column is None:
            return
        column = source.by_name.get(self.column)
        if column is None:
            near = did_you_mean(self.column, source.by_name)
            yield f"window column {self.column!r} is not in source {source.name!r}{near}"
        elif column.kind is not Kind.INSTANT:
            yield f"window column {self.column!r} is {column.kind}, not an instant"

    def fields(self) -> dict[str, Any]:
        """Its fields by name, as a definition file has them."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # each kind is a dataclass

    def meaning(self) -> dict[str, Any]:
        """All that says which records share a row: part of the view's version. An offset of 0 is as none."""
        return {name: said for name, said in self.fields().items() if name != "offset_seconds" or said}

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """What HTTP says of it, beside its kind."""

    @abstractmethod
    def describe(self) -> str:
        """What it is, in words: behind "window"."""
