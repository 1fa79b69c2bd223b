"""Whatever fault of one rung of the ladder a row has, the difference names exactly its records, and never others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

from hypothesis import assume, given
from hypothesis import strategies as st

from app.domain.difference import ComparedRow, DifferenceKind, Fate, Witness
from app.domain.naming.claims import NOTHING_FITS, suspected
from app.domain.naming.named import name_rows
from app.domain.naming.row_difference import RowDifference
from app.domain.records import Record
from app.domain.rows import Cells, RowKey
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.material.histories import START_US, random_ride
from tests.support.naming.plain import PlainEvidence, packed_origin, row_of

VIEW = ZONE_DEMAND
KEY = RowKey(START_US, (132,))
PARTITION = 3
SEEDS = st.integers(0, 2**32)
LOST, DOUBLED, LATE_APPLIED = DifferenceKind.LOST, DifferenceKind.DOUBLED, DifferenceKind.LATE_APPLIED


def records_of(seed: int, count: int, most_offset: int = 1 << 40) -> list[Record]:
    """Of a row, in the order of topics and offsets."""
    rng = random.Random(seed)
    places = {(rng.randrange(len(RIDES.topics)), rng.randrange(most_offset)) for _ in range(count)}
    return [
        Record(RIDES.topics[topic].name, PARTITION, offset, 0, random_ride(rng, i, START_US))
        for i, (topic, offset) in enumerate(sorted(places))
    ]


def row(records: Sequence[Record]) -> Cells | None:
    return row_of(VIEW, records) if records else None


def named(
    stored: Cells | None, records: Sequence[Record], late: Sequence[Record] = (), others: Iterable[Witness] = ()
) -> list[RowDifference]:
    """What is said of a row that is stored so on both sides, and should be of these records."""
    known = [Witness(record, KEY, Fate.APPLIED) for record in records]
    known += [Witness(record, KEY, Fate.LATE) for record in late]
    seen = ComparedRow(PARTITION, KEY, stored, stored, row(records))
    return name_rows(VIEW, [seen], PlainEvidence(VIEW, [*known, *others]))


def changes(found: Iterable[RowDifference]) -> dict[DifferenceKind, dict[int, int]]:
    """What is named, if it explains all."""
    told = list(found)
    assert [one.unexplained for one in told] == [()] * len(told)
    assert all(len(one.changes) == one.record_count == sum(run.record_count for run in one.runs) for one in told)
    return {one.kind: dict(one.changes) for one in told}


def times(records: Iterable[Record], sign: int = 1) -> dict[int, int]:
    return {origin: sign * often for origin, often in Counter(packed_origin(VIEW, r) for r in records).items()}


def of_one_topic(records: Sequence[Record], rng: random.Random) -> tuple[int, int]:
    """From where to where some records of one topic stand, two at least."""
    topics = Counter(record.topic for record in records)
    topic, count = topics.most_common(1)[0]
    assume(count >= 2)
    first = next(at for at, record in enumerate(records) if record.topic == topic)
    begin = rng.randint(0, count - 2)
    return first + begin, first + rng.randint(begin + 2, count)


@given(seed=SEEDS, count=st.integers(2, 8))
def test_a_lost_record_is_found_by_its_fingerprint_alone(seed: int, count: int) -> None:
    records = records_of(seed, count)
    assert changes(named(row(records[1:]), records)) == {LOST: times(records[:1], -1)}


@given(seed=SEEDS, count=st.integers(1, 8))
def test_a_doubled_record_is_found_by_its_fingerprint_alone(seed: int, count: int) -> None:
    records = records_of(seed, count)
    assert changes(named(row([*records, records[0]]), records)) == {DOUBLED: times(records[:1])}


@given(seed=SEEDS, count=st.integers(2, 8))
def test_a_late_record_that_was_applied_is_told_from_a_doubled_one(seed: int, count: int) -> None:
    late, *records = records_of(seed, count)
    assert changes(named(row([*records, late]), records, [late])) == {LATE_APPLIED: times([late])}


@given(seed=SEEDS, count=st.integers(4, 20))
def test_a_run_of_lost_records_is_found(seed: int, count: int) -> None:
    records = records_of(seed, count)
    begin, end = of_one_topic(records, random.Random(seed))
    assume(end - begin < len(records))
    (one,) = named(row([*records[:begin], *records[end:]]), records)
    assert changes([one]) == {LOST: times(records[begin:end], -1)}
    (run,) = one.runs
    assert (run.first_offset, run.last_offset) == (records[begin].offset, records[end - 1].offset)


@given(seed=SEEDS, count=st.integers(3, 20), is_late=st.booleans())
def test_a_run_of_records_that_were_doubled_or_late_is_found(seed: int, count: int, is_late: bool) -> None:
    records = records_of(seed, count)
    begin, end = of_one_topic(records, random.Random(seed))
    extra = records[begin:end]
    applied, late = ([*records[:begin], *records[end:]], extra) if is_late else (records, [])
    (one,) = named(row([*applied, *extra]), applied, late)
    assert changes([one]) == {LATE_APPLIED if is_late else DOUBLED: times(extra)}


@given(seed=SEEDS, count=st.integers(3, 12))
def test_two_lost_records_are_found_wherever_they_stand(seed: int, count: int) -> None:
    records = records_of(seed, count)
    rng = random.Random(seed)
    lost = rng.sample(records, 2)
    assert changes(named(row([r for r in records if r not in lost]), records)) == {LOST: times(lost, -1)}


@given(seed=SEEDS, count=st.integers(1, 12))
def test_two_doubled_records_are_found_and_one_that_was_applied_thrice(seed: int, count: int) -> None:
    records = records_of(seed, count)
    doubled = random.Random(seed).choices(records, k=2)
    assert changes(named(row([*records, *doubled]), records)) == {DOUBLED: times(doubled)}


@given(seed=SEEDS, count=st.integers(2, 12))
def test_one_lost_and_one_doubled_record_are_told_as_two_differences(seed: int, count: int) -> None:
    records = records_of(seed, count)
    lost, doubled = random.Random(seed).sample(records, 2)
    found = named(row([*(r for r in records if r is not lost), doubled]), records)
    assert changes(found) == {LOST: times([lost], -1), DOUBLED: times([doubled])}


@given(seed=SEEDS, count=st.integers(3, 12))
def test_one_doubled_and_one_late_record_are_told_as_two_differences(seed: int, count: int) -> None:
    late, *records = records_of(seed, count)
    assume(records)
    found = named(row([*records, late, records[0]]), records, [late])
    assert changes(found) == {DOUBLED: times(records[:1]), LATE_APPLIED: times([late])}


@given(seed=SEEDS, count=st.integers(5, 8))
def test_two_lost_and_one_doubled_are_not_taken_for_one_lost(seed: int, count: int) -> None:
    records = records_of(seed, count)
    (one,) = named(row([*records[2:], records[3]]), records)
    assert (one.kind, one.records, one.is_residual, one.why) == (DifferenceKind.UNNAMED, (), True, NOTHING_FITS)


@given(seed=SEEDS, count=st.integers(1, 5), at=st.integers(2, len(VIEW.cells) - 1), by=st.integers(1, 9))
def test_other_values_over_the_same_records_are_altered(seed: int, count: int, at: int, by: int) -> None:
    records = records_of(seed, count)
    right = row(records)
    assert right is not None
    assume(right[at] + by < 1 << 63)
    (one,) = named((*right[:at], right[at] + by, *right[at + 1 :]), records)
    assert (one.kind, one.cells, one.is_residual) == (DifferenceKind.ALTERED, (VIEW.cells[at],), False)


@given(seed=SEEDS, count=st.integers(1, 6))
def test_a_missing_row_has_lost_all_its_records(seed: int, count: int) -> None:
    records = records_of(seed, count)
    assert changes(named(None, records)) == {LOST: times(records, -1)}


@given(seed=SEEDS, count=st.integers(1, 6))
def test_equal_sides_have_no_difference(seed: int, count: int) -> None:
    records = records_of(seed, count)
    assert named(row(records), records) == []
    right = row(records)
    assert suspected(VIEW, ComparedRow(PARTITION, KEY, right, right, right)) is None
