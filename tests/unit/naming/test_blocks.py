"""What a task's blocks add to the ladder: each is named alone, they narrow a search, or tell of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from app.domain.difference import ComparedRow, DifferenceKind, Fate, RowPlace, Witness
from app.domain.fingerprint import BLOCK_SIZE
from app.domain.naming.accused import RowRecords
from app.domain.naming.blocks import OffBlock
from app.domain.naming.claims import NOTHING_FITS, TOO_MANY
from app.domain.naming.named import name_rows
from app.domain.naming.narrowed import BLOCKS_AGREE
from app.domain.naming.row_difference import RowDifference
from app.domain.records import Record
from app.domain.rows import RowKey
from app.rides.ride import RIDE_COLUMNS
from app.rides.views import ZONE_DEMAND as VIEW
from tests.support.material.histories import START_US
from tests.support.naming.plain import PlainEvidence, blocks_of, packed_origin, row_of

KEY, OTHER_KEY = RowKey(START_US, (132,)), RowKey(START_US, (133,))
LOST, DOUBLED, UNNAMED = DifferenceKind.LOST, DifferenceKind.DOUBLED, DifferenceKind.UNNAMED


def ride(offset: int) -> Record:
    values = dict.fromkeys(column.name for column in RIDE_COLUMNS)
    return Record("rides.yellow", 0, offset, 0, values | {"pickup_at_us": START_US, "fare_cents": offset})


MINE = [ride(BLOCK_SIZE * block + at) for block in range(4) for at in (0, 2, 4)]
OTHERS = [ride(BLOCK_SIZE * block + at) for block in range(4) for at in (1, 3)]


class Held(PlainEvidence):
    """Two rows over four blocks, and tasks that say how often they applied each record."""

    def __init__(self, lost: Iterable[Record] = (), doubled: Iterable[Record] = ()) -> None:
        mine = [Witness(record, KEY, Fate.APPLIED) for record in MINE]
        super().__init__(VIEW, [*mine, *(Witness(record, OTHER_KEY, Fate.APPLIED) for record in OTHERS)])
        times = Counter(self.times_applied())
        times.subtract(packed_origin(VIEW, record) for record in lost)
        times.update(packed_origin(VIEW, record) for record in doubled)
        self.blocks = blocks_of(times)


class Bounded(Held):
    """No row is looked through, unless where its blocks are off."""

    def records_of(
        self, rows: Sequence[ComparedRow], within: Sequence[tuple[int, int]] | None = None
    ) -> Mapping[RowPlace, RowRecords]:
        return {} if within is None else super().records_of(rows, within)


class Unasked(Held):
    """Blocks that are read for nothing cost a pass over the records."""

    def off_blocks(self) -> Mapping[int, tuple[OffBlock, ...]]:
        raise AssertionError("nobody should ask")


def told(evidence: PlainEvidence, stored: Iterable[Record], key: RowKey = KEY) -> list[RowDifference]:
    """What is said of a row that holds these records on both stored sides."""
    cells, right = row_of(VIEW, stored), row_of(VIEW, MINE if key == KEY else OTHERS)
    return name_rows(VIEW, [ComparedRow(0, key, cells, cells, right)], evidence)


def but(*left_out: Record) -> list[Record]:
    return [record for record in MINE if record not in left_out]


def test_records_that_blocks_lost_are_named_block_by_block() -> None:
    lost = [MINE[1], MINE[3], MINE[11]]
    (one,) = told(Held(lost), but(*lost))
    assert (one.kind, [w.record for w in one.records], one.is_residual) == (LOST, lost, False)


def test_what_other_rows_lost_is_not_a_rows_own() -> None:
    lost = [MINE[1], MINE[3], MINE[11]]
    (one,) = told(Held([*lost, OTHERS[2]]), but(*lost))
    assert (one.kind, [w.record for w in one.records]) == (LOST, lost)


def test_what_blocks_accuse_must_be_what_the_row_is_off_by() -> None:
    (one,) = told(Held([MINE[1], MINE[3], MINE[11]]), but(MINE[2], MINE[4], MINE[11]))
    assert (one.kind, one.why, one.is_residual) == (UNNAMED, NOTHING_FITS, True)


def test_a_block_that_cannot_be_named_leaves_its_rows_unnamed_and_is_told() -> None:
    lost = [MINE[3], MINE[5], OTHERS[2], MINE[11]]
    (one,) = told(Held(lost), but(*lost))
    assert (one.kind, one.why) == (UNNAMED, NOTHING_FITS)
    assert [block.told(VIEW.source) for block in one.blocks] == [
        {
            "topic": "rides.yellow",
            "partition": 0,
            "first_offset": block * BLOCK_SIZE,
            "last_offset": (block + 1) * BLOCK_SIZE - 1,
            "surplus": surplus,
        }
        for block, surplus in ((1, -3), (3, -1))
    ]


def test_a_row_that_its_task_had_the_right_records_for_is_the_stores_fault() -> None:
    """And residual: nothing was folded again that would give it."""
    (one,) = told(Held(), but(MINE[0], MINE[5], MINE[7]))
    assert (one.kind, one.why, one.records) == (DifferenceKind.STORE, BLOCKS_AGREE, ())
    assert one.is_residual


def test_a_task_without_blocks_says_nothing() -> None:
    evidence = Held()
    evidence.blocks = {}
    (one,) = told(evidence, but(MINE[0], MINE[5], MINE[7]))
    assert (one.kind, one.blocks) == (UNNAMED, ())


def test_a_row_with_too_many_records_is_looked_through_where_its_blocks_are_off() -> None:
    doubled = MINE[3:8]
    (one,) = told(Bounded(doubled=doubled), [*MINE, *doubled])
    assert (one.kind, [w.record for w in one.records], one.is_residual) == (DOUBLED, doubled, False)
    assert [(run.first_offset, run.last_offset) for run in one.runs] == [(doubled[0].offset, doubled[-1].offset)]


def test_a_run_that_goes_on_in_a_block_that_has_others_off_is_found_in_the_row() -> None:
    doubled = MINE[3:8]
    (one,) = told(Bounded(lost=[OTHERS[2], OTHERS[7]], doubled=doubled), [*MINE, *doubled])
    assert (one.kind, [w.record for w in one.records]) == (DOUBLED, doubled)


def test_a_row_with_too_many_records_and_no_such_run_stays_so() -> None:
    lost = [MINE[3], MINE[5], OTHERS[2], MINE[11]]
    (one,) = told(Bounded(lost), but(*lost))
    assert (one.kind, one.why, len(one.blocks)) == (UNNAMED, TOO_MANY, 2)


def test_what_blocks_accuse_must_explain_all_values() -> None:
    lost = [MINE[1], MINE[3], MINE[11]]
    cells = row_of(VIEW, but(*lost))
    altered = (*cells[:4], cells[4] + 1, *cells[5:])
    row = ComparedRow(0, KEY, altered, altered, row_of(VIEW, MINE))
    (one,) = name_rows(VIEW, [row], Held(lost))
    assert (one.kind, one.unexplained) == (UNNAMED, one.cells)


def test_blocks_of_a_row_that_is_the_stores_fault_alone_are_not_asked() -> None:
    row = ComparedRow(0, KEY, row_of(VIEW, but(*MINE[:3:2])), row_of(VIEW, MINE), row_of(VIEW, MINE))
    (one,) = name_rows(VIEW, [row], Unasked())
    assert (one.kind, one.is_residual) == (DifferenceKind.STORE, False)
