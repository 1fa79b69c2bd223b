"""A view as data: one definition that the worker, the Spark job, the oracle and HTTP all read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from app.domain.errors import DefinitionError, did_you_mean
from app.domain.figures.contract import Figure, FigureValue, figure_problems
from app.domain.figures.names import name_problems
from app.domain.measures.contract import Measure, Shown
from app.domain.measures.parts import COUNT, FINGERPRINT, Part, merge_part
from app.domain.source import NAME, Action, Kind, Source, no_column
from app.domain.windows.contract import Window

WINDOW_NAME = "window_start_us"
WINDOW_END, WINDOW_DAY = "window_end_us", "window_day"
"""What a stored row's window is called beside its groups and cells."""


@dataclass(frozen=True, slots=True)
class Group:
    """A key column of a view, under the name that users see. Null is a group of its own."""

    name: str
    column: str


FIRST_WINDOW = Group("first_window_us", "")
"""Of a row of overlapping windows, before the groups that users name: the first window that counts its records."""


@dataclass(frozen=True)
class View:
    """What to group, over which window, and what to measure.

    `number` is never reused: it stands in every stored key. `grace_seconds`: how long after its end a
    window still takes records, in the time of their topic-partition's watermark. `retention_seconds`:
    how long after closing a row stays in the table. `revisable_seconds`: how long after closing a final that
    was published is remembered, to be published again when its row is corrected. `leaves_out` names rules of the
    source that mark: of what they hold is out of the view's scope. `figures` are made of the measures when they are
    shown.
    """

    number: int
    name: str
    source: Source
    groups: tuple[Group, ...]
    window: Window
    measures: tuple[Measure, ...]
    grace_seconds: int
    retention_seconds: int
    help: str
    revisable_seconds: int = 0
    leaves_out: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise DefinitionError(f"view {self.name!r} is not usable", problems)
        object.__setattr__(self, "window", self.window.over(self.source))

    def __hash__(self) -> int:  # of what tells views apart: all of it takes 20 µs, and they are looked up by batch
        return hash((self.number, self.name))

    @property
    def grace_us(self) -> int:
        return self.grace_seconds * 1_000_000

    @property
    def retention_us(self) -> int:
        return self.retention_seconds * 1_000_000

    @property
    def revisable_us(self) -> int:
        return self.revisable_seconds * 1_000_000

    @cached_property
    def stored_groups(self) -> tuple[Group, ...]:
        """What stands behind the window in the key of a stored row: the groups, and what the window kind adds."""
        return (FIRST_WINDOW, *self.groups) if self.window.overlap else self.groups

    @cached_property
    def texts(self) -> tuple[bool, ...]:
        """Which of the stored groups are texts; the others are integers."""
        known = self.source.by_name
        return tuple(g is not FIRST_WINDOW and known[g.column].kind is Kind.TEXT for g in self.stored_groups)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What a stored row holds, in order: count, fingerprint, then the measures' parts."""
        of_measures = (part for measure in self.measures for part in measure.parts(self.source))
        return (COUNT, FINGERPRINT, *self.window.parts, *of_measures)

    @cached_property
    def cells(self) -> tuple[str, ...]:
        """Names of the 64-bit cells of a stored row, in order."""
        return tuple(name for part in self.parts for name in part.cells)

    @cached_property
    def last_at(self) -> int:
        """Where in a row that merges the instant of its last record is. ValueError where rows stand alone."""
        if self.window.last_cell is None:
            raise ValueError(f"rows of {self.name} do not merge")
        return self.cells.index(self.window.last_cell)

    @cached_property
    def neutral(self) -> tuple[int, ...]:
        """The row that no record has touched."""
        return tuple(cell for part in self.parts for cell in part.op.neutral)

    @cached_property
    def version(self) -> str:
        """Eight hex digits over its number and all that can change its rows; changed, it is another version (rule 13).

        It tells views apart wherever their names do not, as they may change: so may grace and skew while the view goes
        on (`app.domain.rules.epochs`), and how long its rows are kept.
        """
        described = {
            "number": self.number,
            "source": self.source.number,
            "groups": [asdict(group) for group in self.groups],
            "window": [type(self.window).__name__, self.window.meaning()],
            "parts": [asdict(part) for part in self.parts],
            "columns": [self.source.by_name[name].meaning() for name in sorted(self.columns)],
            "derived": [d.meaning() for d in self.source.derived if d.column.name in self.columns],
            **({"revisable_seconds": self.revisable_seconds} if self.revisable_seconds else {}),
            **({"rules": rules} if (rules := self._rules_meaning()) else {}),
        }
        text = json.dumps(described, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def _rules_meaning(self) -> dict[str, Any]:
        """What the rules say that the view reads, and whether it leaves their records out."""
        read = self.source.rules_in(self.columns)
        return {rule.name: [rule.meaning, rule.name in self.leaves_out] for rule in read}

    @cached_property
    def columns(self) -> frozenset[str]:
        """Source columns (derived ones included) that the view reads."""
        names = {group.column for group in self.groups}
        names |= {part.column for part in self.parts if part.column is not None}
        if self.window.column is not None:
            names.add(self.window.column)
        return frozenset(names | {self.source.reported_at, *self.leaves_out})

    def merge(self, left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
        """Two rows of one key as one; associative and commutative, `neutral` changes nothing."""
        merged: list[int] = []
        for part in self.parts:
            at, end = len(merged), len(merged) + part.op.width
            merged += merge_part(part.op, left[at:end], right[at:end])
        return tuple(merged)

    def present(self, cells: Sequence[int]) -> dict[str, Any]:
        """The measures as users see them: null where no value was seen, bins of a histogram as a list.

        ValueError if the row is not as wide as the view's.
        """
        held = list(cells)
        if len(held) != len(self.cells):
            raise ValueError(f"a row of {len(held)} cells, but those of {self.name} have {len(self.cells)}")
        return {
            name: None if unless_zero is not None and not held[unless_zero] else held[at]
            for name, at, unless_zero in self._places
        }

    def figured(self, presented: Mapping[str, Any], count: int) -> dict[str, FigureValue]:
        """The figures of a row by name: of what `present` gives of it, and its count."""
        held = {COUNT.name: count, **presented}
        return {figure.name: figure.value(self._measures, held) for figure in self.figures}

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        return {measure.name: measure for measure in self.measures}

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """What users see of the measures, in order."""
        return tuple(shown for measure in self.measures for shown in measure.shown(self.source))

    @cached_property
    def _places(self) -> tuple[tuple[str, Any, int | None], ...]:
        """Of what is shown: its name, its cell (or a slice: a list's), and the cell that is 0 where it has no value."""
        places = {name: place for place, name in enumerate(self.cells)}
        return tuple(
            (
                one.name,
                slice(first, first + len(one.cells)) if one.is_list else first,
                None if one.unless_zero is None else places[one.unless_zero],
            )
            for one in self.shown
            for first in [places[one.cells[0]]]
        )


def _problems(view: View) -> Iterable[str]:
    known = view.source.by_name
    if not NAME.fullmatch(view.name):
        yield f"name {view.name!r}: it stands in topics and addresses; letters, digits, '.', '_' and '-', 100 at most"
    if not 0 < view.number < 1 << 16:
        yield f"number {view.number} is not in 1..65535"
    if view.grace_seconds < 0 or view.retention_seconds < 0:
        yield "grace_seconds and retention_seconds may not be negative"
    if view.revisable_seconds and not 0 < view.revisable_seconds <= view.retention_seconds:
        yield "revisable_seconds is not in 0..retention_seconds: a row that has left the table is never corrected"
    if view.revisable_seconds and view.window.merges:
        yield "revisable_seconds: finals of rows that merge are never published again"
    for group in view.groups:
        if group.column not in known:
            yield f"group {group.name!r}: {no_column(group.column, view.source)}"
    yield from view.window.problems(view.source)
    for measure in view.measures:
        yield from measure.problems(view.source)
    yield from figure_problems(view.figures, view.measures, view.shown)
    yield from _leaving_problems(view)
    yield from _name_problems(view)


def _leaving_problems(view: View) -> Iterable[str]:
    rules = {rule.name: rule for rule in view.source.rules}
    for name in view.leaves_out:
        if name not in rules:
            yield f"leaves_out {name!r}: no rule of source {view.source.name!r}{did_you_mean(name, rules)}"
        elif rules[name].action is not Action.MARK:
            yield f"leaves_out {name!r}: its action is '{rules[name].action}', only what a rule marks can be left out"


def _name_problems(view: View) -> Iterable[str]:
    """Names that would hide one another, where rows are shown or where they are stored (docs/formats.md)."""
    own = [COUNT.name, FINGERPRINT.name, *(part.name for part in view.window.parts)]
    own += [FIRST_WINDOW.name] if view.window.overlap else []
    groups, shown, stored = [g.name for g in view.groups], [figure.name for figure in view.figures], own
    for measure in view.measures:
        shown += [one.name for one in measure.shown(view.source)]
        stored += [cell for part in measure.parts(view.source) for cell in part.cells]
    if taken := list(name_problems(groups, shown)):
        yield from taken
        return
    for names in ([*groups, *shown], [*groups, *stored]):
        alike = [name.lower() for name in names]  # SQL and Delta tables mind no case
        if twice := sorted({name for name in names if alike.count(name.lower()) > 1}):
            yield from (f"the name {name!r} is used twice" for name in twice)
            return
