"""Plants faults into random histories, and holds what is said of them to what was planted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from app.domain.difference import DifferenceKind
from app.domain.naming.blocks import OffBlock
from app.domain.naming.gathered import NamedRun, gathered
from app.domain.naming.named import name_rows
from app.domain.naming.row_difference import RowDifference
from tests.plants.faults import FAULTS
from tests.plants.history import Table, tables_of
from tests.plants.spoiling import Fault, Plant, Said, planted
from tests.support.naming.plain import blocks_of, compared

PLANTS_AT_ONCE = 5
SHARE_OF_WHOLE = 0.3
"""Of tables that have one fault in many rows."""
SHARE_OF_WORKERS = 0.5
"""Of those with blocks: the worker applied records so, and its blocks say it; else the store did."""
WRONG_SHOWN = 20


@dataclass
class Tried:
    """What came of it all; `wrong` in words, the first of them."""

    planted: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    false: int = 0
    clean_runs: int = 0
    alarms: int = 0
    rows: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        return self.planted == self.named and not self.false and not self.alarms


def plant(seed: int, count: int, tell: Callable[[int], None] = lambda _: None) -> Tried:
    """So many faults, and at least as many views in which there is none."""
    tried, number = Tried(), 0
    while tried.planted.total() < count or tried.clean_runs < count:
        rng = random.Random(f"{seed} {number}")
        number += 1
        for table in tables_of(rng):
            _clean(table, tried, number)
            _spoilt(rng, table, tried, min(count - tried.planted.total(), PLANTS_AT_ONCE), number)
        tell(min(tried.planted.total(), tried.clean_runs))
    return tried


def _clean(table: Table, tried: Tried, number: int) -> None:
    """A table as the worker left it must raise no alarm."""
    tried.clean_runs += 1
    tried.rows += len(table.recomputed)
    said, _ = _said(table)
    off = [one for blocks in table.evidence.off_blocks().values() for one in blocks]
    tried.alarms += bool(said or off)
    _note(tried, [f"history {number}, {table.view.name}: alarm {one}" for one in [*said, *off]])


def _spoilt(rng: random.Random, table: Table, tried: Tried, most: int, number: int) -> None:
    plants = _planted(rng, table, tried.planted, most)
    said, runs = _said(table)
    expected = {one for plant in plants for one in plant.said}
    for plant in plants:
        tried.planted[plant.fault] += 1
        places = {one.place for one in plant.said}
        own = {one for one in said if one.place in places}
        is_named = own == plant.said and len(own) == sum(one.place in places for one in said)
        tried.named[plant.fault] += is_named and _is_told_together(plant, runs)
        if not is_named:
            _note(tried, [f"history {number}, {table.view.name}: {plant}: {own}"])
    tried.false += sum(one not in expected for one in said)


def _planted(rng: random.Random, table: Table, before: Counter[str], most: int) -> list[Plant]:
    """What was planted seldom goes first: not every row can have every fault."""
    is_whole = rng.random() < SHARE_OF_WHOLE
    fitting: Sequence[Fault] = [fault for fault in FAULTS if fault.is_whole == is_whole]
    rarest = sorted(rng.sample(fitting, len(fitting)), key=lambda fault: before[fault.name])
    plants = (planted(rng, table, fault) for fault in rarest)
    count = 1 if is_whole else rng.randint(1, PLANTS_AT_ONCE)
    found = [*islice((plant for plant in plants if plant is not None), min(count, most))]
    if table.evidence.blocks and rng.random() < SHARE_OF_WORKERS:
        table.evidence.blocks = blocks_of(_applied(table, found))
    off = table.evidence.off_blocks()
    return [by_blocks(plant, off) for plant in found]


def _applied(table: Table, plants: Iterable[Plant]) -> Mapping[int, int]:
    """How often the worker applied each record, if the faults are its own."""
    times = Counter(table.evidence.times_applied())
    for plant in plants:
        if not plant.fault.startswith("store"):
            for one in plant.said:
                times.update(dict(one.changes))
    return times


def by_blocks(plant: Plant, off: Mapping[int, Sequence[OffBlock]]) -> Plant:
    """A row that is of no records is the store's fault if its task says that it applied the right ones."""
    right = {task for task, blocks in off.items() if not blocks}
    said = {one for one in plant.said if one.kind is DifferenceKind.UNNAMED and one.place[0] in right}
    return replace(plant, said=plant.said - said | {one._replace(kind=DifferenceKind.STORE) for one in said})


def _said(table: Table) -> tuple[list[Said], list[NamedRun]]:
    rows = compared(table.live, table.changelog, table.recomputed)
    found = name_rows(table.view, rows, table.evidence)
    return said_of(found), gathered(table.view, found, table.evidence)


def said_of(found: Iterable[RowDifference]) -> list[Said]:
    return [Said(one.row.place, one.kind, frozenset(one.changes.items()), one.is_residual) for one in found]


def _is_told_together(plant: Plant, runs: Sequence[NamedRun]) -> bool:
    """Whether a batch is one run, in whatever rows its records are."""
    if not plant.fault.startswith("batch"):
        return True
    records = {origin for one in plant.said for origin, _ in one.changes}
    kinds: set[DifferenceKind] = {one.kind for one in plant.said}
    told = [(one.kind, one.run.record_count, one.row_count) for one in runs]
    return told == [(kind, len(records), len(plant.said)) for kind in kinds]


def _note(tried: Tried, words: Sequence[str]) -> None:
    tried.wrong += words[: WRONG_SHOWN - len(tried.wrong)]
