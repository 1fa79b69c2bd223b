"""Faults that are planted into what is stored, each with what a reconciliation has to say of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from app.domain.difference import DifferenceKind
from app.domain.naming.accused import RowRecords
from app.domain.naming.runs import by_topic_partition
from app.domain.records import Record
from app.domain.rows import Cells
from app.domain.view import View
from tests.plants.history import Table
from tests.plants.spoiling import Fault, Said, change, choice, row
from tests.support.naming.plain import row_of


def _some(count: int, kind: str, least: int) -> Callable[[random.Random, Table], list[Said] | None]:
    """So many records of a row, whichever."""

    def plant(rng: random.Random, table: Table) -> list[Said] | None:
        place = row(rng, table, least, is_late=kind == "late")
        if place is None:
            return None
        held = table.held(place)
        among = held.late if kind == "late" else held.applied
        return change(table, place, **{kind: rng.sample(list(among), count)})

    return plant


def _run(kind: str) -> Callable[[random.Random, Table], list[Said] | None]:
    """Records of a row that follow one another in a topic-partition; not all, where they are lost."""

    def places(held: RowRecords) -> list[tuple[int, int]]:
        among = held.late if kind == "late" else held.applied
        return [(begin, end) for begin, end in by_topic_partition(among) if end - begin > (1 + (kind == "lost"))]

    def plant(rng: random.Random, table: Table) -> list[Said] | None:
        place = choice(rng, table, lambda held: bool(places(held)))
        if place is None:
            return None
        held = table.held(place)
        begin, end = rng.choice(places(held))
        length = rng.randint(2, end - begin - (kind == "lost"))
        first = rng.randint(begin, end - length)
        return change(table, place, **{kind: (held.late if kind == "late" else held.applied)[first : first + length]})

    return plant


def _one_of_each(rng: random.Random, table: Table) -> list[Said] | None:
    place = row(rng, table, 2)
    if place is None:
        return None
    lost, doubled = rng.sample(list(table.held(place).applied), 2)
    return change(table, place, lost=[lost], doubled=[doubled])


def _thrice(rng: random.Random, table: Table) -> list[Said] | None:
    place = row(rng, table, 1)
    return None if place is None else change(table, place, doubled=[rng.choice(table.held(place).applied)] * 2)


def batch(kind: str, least: int = 1) -> Fault:
    """All that was applied of some offsets of a topic-partition is lost or doubled, in whatever rows; so many records
    at least."""

    def plant(rng: random.Random, table: Table) -> list[Said] | None:
        applied = sorted(origin for held in table.evidence.held.values() for origin in held.applied)
        parts = [(begin, end) for begin, end in by_topic_partition(applied) if end - begin >= least]
        if not parts:
            return None
        begin, end = rng.choice(parts)
        first = rng.randint(begin, end - least)
        bounds = applied[first], applied[rng.randint(first + least, end) - 1]
        said = []
        for place, held in table.evidence.held.items():
            if touched := [origin for origin in held.applied if bounds[0] <= origin <= bounds[1]]:
                said += change(table, place, **{kind: touched})
        return said

    return Fault(f"batch {kind}", plant, is_whole=True)


def _missing(rng: random.Random, table: Table) -> list[Said] | None:
    place = row(rng, table, 1)
    return None if place is None else change(table, place, lost=table.held(place).applied)


def _made_up(rng: random.Random, table: Table) -> list[Said] | None:
    """A row that the other task has: none of its records belongs there."""
    taken = {*table.used, *table.evidence.held}
    there = [(1 - task, key) for task, key in sorted(table.recomputed, key=repr)]
    places = [place for place in there if place not in taken]
    if not places:
        return None
    place = task, key = rng.choice(places)
    table.store(place, table.recomputed[1 - task, key])
    return [Said(place, DifferenceKind.UNNAMED, is_residual=True)]


def _other_value(rng: random.Random, cells: Cells) -> Cells:
    at = rng.randrange(2, len(cells))
    by = rng.choice((-1, 1, 1000))
    fits = -(2**63) <= cells[at] + by < 2**63  # the least and the greatest of no value are the ends of what fits
    return (*cells[:at], cells[at] + (by if fits else -by), *cells[at + 1 :])


def _altered(rng: random.Random, table: Table) -> list[Said] | None:
    place = row(rng, table, 1)
    if place is None or len(table.view.cells) == 2:
        return None
    table.store(place, _other_value(rng, table.recomputed[place]))
    return [Said(place, DifferenceKind.ALTERED)]


def _store_lost(rng: random.Random, table: Table) -> list[Said] | None:
    place = row(rng, table, 2)
    if place is None:
        return None
    side, origin = rng.choice((table.live, table.changelog)), rng.choice(table.held(place).applied)
    cells = table.evidence.changed(place, {origin: -1})
    assert cells is not None
    side[place] = cells
    return [Said(place, DifferenceKind.STORE, frozenset({(origin, -1)}))]


def _store_altered(rng: random.Random, table: Table) -> list[Said] | None:
    place = row(rng, table, 1)
    if place is None or len(table.view.cells) == 2:
        return None
    rng.choice((table.live, table.changelog))[place] = _other_value(rng, table.recomputed[place])
    return [Said(place, DifferenceKind.STORE)]


def _store_gone(rng: random.Random, table: Table) -> list[Said] | None:
    place = row(rng, table, 1)
    if place is None:
        return None
    rng.choice((table.live, table.changelog)).pop(place)
    return [Said(place, DifferenceKind.STORE)]


def _logic(rng: random.Random, table: Table) -> list[Said] | None:
    """A translator that counts in one cell what is not there for every third record."""
    if not table.recomputed or len(table.view.cells) == 2:
        return None
    at = rng.randrange(2, len(table.view.cells))

    def mistaken(view: View, records: Sequence[Record]) -> Cells:
        cells = row_of(view, records)
        return (*cells[:at], cells[at] + sum(record.offset % 3 == 0 for record in records), *cells[at + 1 :])

    table.evidence.translator = mistaken
    said = []
    for place, right in table.recomputed.items():
        cells = mistaken(table.view, [table.evidence.known[origin].record for origin in table.held(place).applied])
        if cells != right:
            table.store(place, cells)
            said.append(Said(place, DifferenceKind.LOGIC))
    return said or None


ANOTHER_TRANSLATOR = Fault("another translator", _logic, is_whole=True)
FAULTS: Sequence[Fault] = (
    Fault("lost one", _some(1, "lost", 2)),
    Fault("doubled one", _some(1, "doubled", 1)),
    Fault("late one", _some(1, "late", 1)),
    Fault("applied thrice", _thrice),
    Fault("lost run", _run("lost")),
    Fault("doubled run", _run("doubled")),
    Fault("late run", _run("late")),
    Fault("lost two", _some(2, "lost", 3)),
    Fault("doubled two", _some(2, "doubled", 2)),
    Fault("lost one, doubled one", _one_of_each),
    Fault("row missing", _missing),
    Fault("row made up", _made_up),
    Fault("cell altered", _altered),
    Fault("store lost one", _store_lost),
    Fault("store altered", _store_altered),
    Fault("store lost a row", _store_gone),
    batch("lost"),
    batch("doubled"),
    ANOTHER_TRANSLATOR,
)
