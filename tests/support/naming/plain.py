"""Evidence without any engine: records held as they are, judged and folded one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from app.domain.advance import Advance
from app.domain.contribution import contribution
from app.domain.difference import ComparedRow, Fate, RowPlace, Witness
from app.domain.fingerprint import BLOCK_SIZE, Origin, mix, pack, signed, unpack
from app.domain.naming.accused import RowRecords
from app.domain.naming.blocks import BlockPlace, OffBlock, off_blocks
from app.domain.naming.evidence import Translator
from app.domain.records import Record
from app.domain.rows import Cells, merge_rows
from app.domain.view import View
from tests.support.naming.judged import judged

Rows = Mapping[RowPlace, Cells]


def row_of(view: View, records: Iterable[Record]) -> Cells:
    """The row that records make, by the rules."""
    return merge_rows(view, (contribution(view, record) for record in records))


def packed_origin(view: View, record: Record) -> int:
    return pack(Origin(view.source.topic(record.topic).number, record.partition, record.offset))


def compared(live: Rows, changelog: Rows, recomputed: Rows) -> list[ComparedRow]:
    """Those rows that are not the same on all three sides."""
    places = sorted({*live, *changelog, *recomputed}, key=repr)
    rows = [ComparedRow(*place, live.get(place), changelog.get(place), recomputed.get(place)) for place in places]
    return [row for row in rows if not row.live == row.changelog == row.recomputed]


class PlainEvidence:
    """`translator`: the worker's own, by default one that makes no mistake."""

    def __init__(self, view: View, witnesses: Iterable[Witness], translator: Translator = row_of) -> None:
        self.view, self.translator = view, translator
        self.blocks: Mapping[BlockPlace, tuple[int, int]] = {}
        """What tasks say that they applied; nothing."""
        self.known = {packed_origin(view, witness.record): witness for witness in witnesses}

    @classmethod
    def of_log(cls, view: View, records: Iterable[Record], advances: Iterable[Advance] = ()) -> PlainEvidence:
        """Of all records of a source, in offset order within each topic-partition."""
        return cls(view, judged(view, records, advances))

    @cached_property
    def held(self) -> Mapping[RowPlace, RowRecords]:
        """All rows that there could be, with the records of their keys."""
        applied: dict[RowPlace, list[int]] = defaultdict(list)
        late: dict[RowPlace, list[int]] = defaultdict(list)
        for origin, one in sorted(self.known.items()):
            if one.key is not None:
                by_fate = applied if one.fate is Fate.APPLIED else late
                by_fate[one.record.partition, one.key].append(origin)
        return {place: RowRecords(applied[place], late[place]) for place in [*applied, *late]}

    @property
    def rows(self) -> dict[RowPlace, Cells]:
        """The rows by the rules."""
        return {place: self.folded(held.applied) for place, held in self.held.items() if held.applied}

    def folded(self, origins: Iterable[int]) -> Cells:
        return row_of(self.view, (self.known[origin].record for origin in origins))

    def witnesses(self, origins: Collection[int]) -> Mapping[int, Witness]:
        return {origin: self.known[origin] for origin in origins if origin in self.known}

    def records_of(
        self, rows: Sequence[ComparedRow], within: Sequence[tuple[int, int]] | None = None
    ) -> Mapping[RowPlace, RowRecords]:
        found = {row.place: self.held.get(row.place, RowRecords(())) for row in rows}
        if within is None:
            return found
        return {
            place: RowRecords(_inside(one.applied, within), _inside(one.late, within)) for place, one in found.items()
        }

    def off_blocks(self) -> Mapping[int, tuple[OffBlock, ...]]:
        return off_blocks(self.blocks, blocks_of(self.times_applied()))

    def times_applied(self) -> dict[int, int]:
        """By origin: what should have been applied, once."""
        return {origin: 1 for origin, one in self.known.items() if one.fate is Fate.APPLIED}

    def refolded(self, changes: Mapping[RowPlace, Mapping[int, int]]) -> Mapping[RowPlace, Cells]:
        made = {place: self.changed(place, told) for place, told in changes.items()}
        return {place: cells for place, cells in made.items() if cells is not None}

    def changed(self, place: RowPlace, changes: Mapping[int, int]) -> Cells | None:
        """A row with some of its records, or late ones, counted more or less often."""
        applied = set(self.held.get(place, RowRecords(())).applied)
        times = {origin: (origin in applied) + changes.get(origin, 0) for origin in [*applied, *changes]}
        counted = [origin for origin, often in times.items() for _ in range(often)]
        return self.folded(counted) if counted else None

    def translated(self, rows: Sequence[ComparedRow]) -> Mapping[RowPlace, Cells]:
        records = {row.place: [self.known[origin].record for origin in self.held[row.place].applied] for row in rows}
        return {place: self.translator(self.view, of_it) for place, of_it in records.items()}

    def applied_between(self, bounds: Sequence[tuple[int, int]]) -> Sequence[int]:
        applied = sorted(origin for origin, one in self.known.items() if one.fate is Fate.APPLIED)
        return _inside(applied, bounds)


def blocks_of(times: Mapping[int, int]) -> dict[BlockPlace, tuple[int, int]]:
    """The blocks of a task that applied records so often."""
    found: dict[BlockPlace, tuple[int, int]] = {}
    for origin, often in times.items():
        topic_number, partition, offset = unpack(origin)
        place = BlockPlace(topic_number, partition, offset // BLOCK_SIZE)
        count, fingerprint = found.get(place, (0, 0))
        found[place] = count + often, signed(fingerprint + often * mix(origin))
    return found


def _inside(origins: Iterable[int], bounds: Sequence[tuple[int, int]]) -> list[int]:
    return [origin for origin in origins if any(first <= origin <= last for first, last in bounds)]
