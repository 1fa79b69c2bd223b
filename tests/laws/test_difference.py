"""Whatever single fault a row has, the difference names exactly it, and never anything else."""

from __future__ import annotations

import random

from hypothesis import assume, given
from hypothesis import strategies as st

from app.domain.contribution import contribution
from app.domain.difference import (
    ComparedRow,
    DifferenceKind,
    Fate,
    RowDifference,
    Witness,
    accused,
    corrections,
    differences,
    settled,
)
from app.domain.fingerprint import Origin
from app.domain.records import Record
from app.domain.rows import Cells, RowKey, merge_rows
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.material.histories import START_US, random_ride

VIEW = ZONE_DEMAND
KEY = RowKey(START_US, (132,))
PARTITION = 3


def records_of(seed: int, count: int) -> list[Record]:
    rng = random.Random(seed)
    topic = RIDES.topics[seed % len(RIDES.topics)].name
    offsets = rng.sample(range(1 << 40), count)
    return [Record(topic, PARTITION, o, 0, random_ride(rng, i, START_US)) for i, o in enumerate(offsets)]


def origin(record: Record) -> Origin:
    return Origin(RIDES.topic(record.topic).number, record.partition, record.offset)


def row(records: list[Record]) -> Cells | None:
    return merge_rows(VIEW, (contribution(VIEW, r) for r in records)) if records else None


def witnesses(records: list[Record], fate: Fate = Fate.APPLIED) -> dict[Origin, Witness]:
    return {origin(record): Witness(record, KEY, fate) for record in records}


def explained(seen: ComparedRow, known: dict[Origin, Witness], records: list[Record]) -> RowDifference:
    """The one difference, with its claim checked by folding again."""
    asked = accused(VIEW, seen)
    found = {origin: witness for origin, witness in known.items() if origin == asked}
    (one,) = differences(VIEW, seen, found, [known[origin(r)] for r in records])
    repeated = list(records)
    for witness, times in corrections(one):
        if times > 0:
            repeated.append(witness.record)
        else:
            repeated.remove(witness.record)
    return settled(VIEW, one, row(repeated)) if corrections(one) else one


SEEDS = st.integers(0, 2**32)


@given(seed=SEEDS, count=st.integers(2, 8))
def test_a_lost_record_is_found_by_its_fingerprint_alone(seed: int, count: int) -> None:
    records = records_of(seed, count)
    stored = row(records[1:])
    one = explained(ComparedRow(PARTITION, KEY, stored, stored, row(records)), witnesses(records), records)
    assert (one.kind, [w.record for w in one.records], one.unexplained) == (DifferenceKind.LOST, records[:1], ())


@given(seed=SEEDS, count=st.integers(1, 8))
def test_a_doubled_record_is_found_by_its_fingerprint_alone(seed: int, count: int) -> None:
    records = records_of(seed, count)
    stored = row([*records, records[0]])
    one = explained(ComparedRow(PARTITION, KEY, stored, stored, row(records)), witnesses(records), records)
    assert (one.kind, [w.record for w in one.records], one.unexplained) == (DifferenceKind.DOUBLED, records[:1], ())


@given(seed=SEEDS, count=st.integers(1, 8))
def test_a_late_record_that_was_applied_is_told_from_a_doubled_one(seed: int, count: int) -> None:
    late, *records = records_of(seed, count)
    stored, known = row([*records, late]), witnesses(records) | witnesses([late], Fate.LATE)
    one = explained(ComparedRow(PARTITION, KEY, stored, stored, row(records)), known, records)
    assert (one.kind, [w.record for w in one.records], one.unexplained) == (DifferenceKind.LATE_APPLIED, [late], ())


@given(seed=SEEDS, count=st.integers(4, 8))
def test_two_lost_and_one_doubled_are_not_taken_for_one_lost(seed: int, count: int) -> None:
    records = records_of(seed, count)
    stored = row([*records[2:], records[3]])
    one = explained(ComparedRow(PARTITION, KEY, stored, stored, row(records)), witnesses(records), records)
    assert (one.kind, one.records, one.is_residual) == (DifferenceKind.UNNAMED, (), True)


@given(seed=SEEDS, count=st.integers(1, 5), at=st.integers(2, len(VIEW.cells) - 1), by=st.integers(1, 9))
def test_other_values_over_the_same_records_are_altered(seed: int, count: int, at: int, by: int) -> None:
    right = row(records_of(seed, count))
    assert right is not None
    assume(right[at] + by < 1 << 63)
    stored = (*right[:at], right[at] + by, *right[at + 1 :])
    (one,) = differences(VIEW, ComparedRow(PARTITION, KEY, stored, stored, right), {})
    assert (one.kind, one.cells, one.is_residual) == (DifferenceKind.ALTERED, (VIEW.cells[at],), False)


@given(seed=SEEDS, count=st.integers(1, 6))
def test_a_missing_row_has_lost_all_its_records(seed: int, count: int) -> None:
    records = records_of(seed, count)
    known = witnesses(records)
    (one,) = differences(VIEW, ComparedRow(PARTITION, KEY, None, None, row(records)), known, list(known.values()))
    assert (one.kind, one.record_count, len(one.records)) == (DifferenceKind.LOST, count, count)


@given(seed=SEEDS, count=st.integers(1, 6))
def test_equal_sides_have_no_difference(seed: int, count: int) -> None:
    right = row(records_of(seed, count))
    seen = ComparedRow(PARTITION, KEY, right, right, right)
    assert (differences(VIEW, seen, {}), accused(VIEW, seen)) == ([], None)
