"""What a planted fault is, and how a row is spoilt by records."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain.difference import DifferenceKind, RowPlace
from app.domain.naming.accused import RowRecords
from tests.plants.history import Table

LOST, DOUBLED, LATE = DifferenceKind.LOST, DifferenceKind.DOUBLED, DifferenceKind.LATE_APPLIED


class Said(NamedTuple):
    """What is said of a row: the kind of difference, how often each record was applied too much, whether it explains
    all."""

    place: RowPlace
    kind: DifferenceKind
    changes: frozenset[tuple[int, int]] = frozenset()
    is_residual: bool = False


@dataclass(frozen=True)
class Plant:
    """A fault, and what is to be said of it."""

    fault: str
    said: frozenset[Said]


@dataclass(frozen=True)
class Fault:
    """`plant` spoils some row of a table that has no fault yet; None where none will do."""

    name: str
    plant: Callable[[random.Random, Table], Iterable[Said] | None]
    is_whole: bool = field(default=False)
    """Whether it spoils the table, so that no other fits beside it."""


def planted(rng: random.Random, table: Table, fault: Fault) -> Plant | None:
    said = fault.plant(rng, table)
    if said is None:
        return None
    table.used |= {one.place for one in said}
    return Plant(fault.name, frozenset(said))


def change(table: Table, place: RowPlace, **by_kind: Sequence[int]) -> list[Said]:
    """Spoil both stored sides by these records, lost, doubled or late."""
    kinds = {"lost": LOST, "doubled": DOUBLED, "late": LATE}
    changes = {
        kinds[name]: {origin: (-1 if name == "lost" else 1) * often for origin, often in Counter(origins).items()}
        for name, origins in by_kind.items()
    }
    together = {origin: times for of_kind in changes.values() for origin, times in of_kind.items()}
    table.store(place, table.evidence.changed(place, together))
    return [Said(place, kind, frozenset(of_kind.items())) for kind, of_kind in changes.items()]


def row(rng: random.Random, table: Table, least: int, *, is_late: bool = False) -> RowPlace | None:
    """A row without a fault that has so many records."""
    return choice(rng, table, lambda held: len(held.late if is_late else held.applied) >= least)


def choice(rng: random.Random, table: Table, fits: Callable[[RowRecords], bool]) -> RowPlace | None:
    places = [place for place, held in table.evidence.held.items() if place not in table.used and fits(held)]
    return rng.choice(sorted(places, key=repr)) if places else None
