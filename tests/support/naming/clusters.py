"""Evidence for clusters of rows that merge, without any engine."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.contribution import contribution, key_of
from app.domain.difference import ComparedRow, DifferenceKind, Fate, RowPlace, Witness
from app.domain.naming.clusters import RowClusters, cluster_cells
from app.domain.naming.row_difference import RowDifference
from app.domain.oracle.view_fold import put_merging
from app.domain.records import Record
from app.domain.rows import Cells, RowKey
from app.domain.source import with_derived
from app.domain.view import View
from tests.support.naming.plain import PlainEvidence, Rows, packed_origin, row_of

LOST, DOUBLED, LATE = DifferenceKind.LOST, DifferenceKind.DOUBLED, DifferenceKind.LATE_APPLIED
KINDS = {"lost": (LOST, Fate.APPLIED, -1), "doubled": (DOUBLED, Fate.APPLIED, 1), "late": (LATE, Fate.LATE, 1)}
PLANTS = (["lost"], ["doubled"], ["late"], ["lost"] * 2, ["doubled"] * 2, ["lost", "doubled"], ["late", "lost"])


def rows_of(view: View, records: Iterable[Record]) -> dict[RowKey, Cells]:
    """The rows that records of one task make, by the rules, in any order."""
    rows: dict[RowKey, Cells] = {}
    for record in records:
        key = key_of(view, with_derived(view.source, record.values))
        assert key is not None
        put_merging(view, rows, key, contribution(view, record))
    return rows


class PlainClusters(PlainEvidence):
    """Records that are in a cluster have its key."""

    def __init__(self, clusters: RowClusters, witnesses: Iterable[Witness], translator: object = row_of) -> None:
        self.clusters = clusters
        super().__init__(clusters.view, map(self._placed, witnesses), translator)  # type: ignore[arg-type]

    def _placed(self, one: Witness) -> Witness:
        place = None if one.key is None else self.clusters.place_of(one.record.partition, one.key)
        return one if place is None else replace(one, key=place[1])

    def folded(self, origins: Iterable[int]) -> Cells:
        return cluster_cells(self.view, rows_of(self.view, (self.known[origin].record for origin in origins)))

    def translated(self, rows: Sequence[ComparedRow]) -> Mapping[RowPlace, Cells]:
        records = {row: [self.known[origin].record for origin in self.held[row.place].applied] for row in rows}
        return {row.place: self.clusters.translated(row, of_it, self.translator) for row, of_it in records.items()}


def sides(view: View, witnesses: Iterable[Witness], changes: Mapping[int, int]) -> tuple[Rows, Rows]:
    """What is stored where records were applied more or less often, and what should be."""
    stored, right = defaultdict[int, list[Record]](list), defaultdict[int, list[Record]](list)
    for one in witnesses:
        due = int(one.fate is Fate.APPLIED)
        right[one.record.partition] += [one.record] * due
        stored[one.record.partition] += [one.record] * (due + changes.get(packed_origin(view, one.record), 0))
    first, second = (
        {(task, key): cells for task, records in held.items() for key, cells in rows_of(view, records).items()}
        for held in (stored, right)
    )
    return first, second


@dataclass(frozen=True)
class Planted:
    """What is done to a group (`place`, by a key without a start): records by origin."""

    place: RowPlace
    records: Mapping[int, str]

    @property
    def changes(self) -> dict[int, int]:
        return {origin: KINDS[kind][2] for origin, kind in self.records.items()}

    @property
    def said(self) -> Counter[tuple[DifferenceKind, int, int]]:
        return Counter((KINDS[kind][0], origin, KINDS[kind][2]) for origin, kind in self.records.items())


def told(found: Sequence[RowDifference]) -> Counter[tuple[DifferenceKind, int, int]]:
    return Counter((one.kind, origin, times) for one in found for origin, times in one.changes.items())


def plant(
    rng: random.Random, view: View, witnesses: Iterable[Witness], kinds: Sequence[str], taken: Collection[RowPlace] = ()
) -> Planted | None:
    """Records of one group (none of those taken) to be lost, doubled, or applied though late; None where too few."""
    of_group = defaultdict[tuple[int, RowKey], list[Witness]](list)
    for one in witnesses:
        assert one.key is not None
        of_group[one.record.partition, one.key._replace(window_start_us=0)].append(one)
    free = sorted(of_group.keys() - {*taken}, key=repr)
    for place in rng.sample(free, len(free)):
        chosen: dict[int, str] = {}
        for kind in kinds:
            fitting = [packed_origin(view, one.record) for one in of_group[place] if one.fate is KINDS[kind][1]]
            left = [origin for origin in fitting if origin not in chosen]
            chosen |= {rng.choice(left): kind} if left else {}
        if len(chosen) == len(kinds):
            return Planted(place, chosen)
    return None
