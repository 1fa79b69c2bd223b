"""Which records a row is off by, from its count and fingerprint alone (rule 25): a ladder, the cheapest rung first.

    one record            the fingerprints' difference, un-mixed: nothing is searched
    a run of records      of one topic-partition, among the row's own in offset order; the count tells how long it is
    two records           each one's mix, and what is then missing, looked up among all

What a rung gives is an accusation: 64 bits agree, and so does the count. Who accuses folds again. Chance agrees with
one of 2**64 runs or pairs that are looked at: of a million records there are a million runs, and 5 * 10**11 pairs.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from app.domain.fingerprint import BITS_64, mix_unsigned, unmix
from app.domain.naming.accused import Accused, RowRecords
from app.domain.naming.runs import by_topic_partition
from app.domain.naming.surplus import Surplus


def accused_one(off: Surplus) -> int | None:
    """The packed origin of the one record that there is too much or too little; None where counts differ by more.

    Any 64-bit difference un-mixes to *some* origin: ask for the record before believing it.
    """
    return unmix(off.records * off.mixes & BITS_64) if abs(off.records) == 1 else None


def accused_run(off: Surplus, records: RowRecords) -> Accused | None:
    """Records of one topic-partition that follow one another in the row, and were all lost, doubled or late.

    Linear in the row's records.
    """
    count, mixes = off
    if abs(count) < 2:
        return None
    if count < 0:
        return _only([Accused(lost=run) for run in _runs(records.applied, -count, -mixes & BITS_64)])
    doubled = [Accused(doubled=run) for run in _runs(records.applied, count, mixes)]
    return _only(doubled + [Accused(late=run) for run in _runs(records.late, count, mixes)])


def accused_two(off: Surplus, records: RowRecords) -> Accused | None:
    """Two records of any topic-partitions: both lost, both too many (one twice, too), or one of each.

    A set of mixes and one look-up for each: linear, but a hundred bytes a record while it lasts.
    """
    count, mixes = off
    if count not in (-2, 0, 2):
        return None
    applied = list(mix_unsigned(records.applied))
    many = [*applied, *mix_unsigned(records.late)]
    if count < 0:
        return _only([_accused(records, lost=pair) for pair in _sums(applied, -mixes & BITS_64)])
    if count:
        return _only([_accused(records, extra=pair) for pair in _sums(many, mixes, twice=set(applied))])
    extra = set(many)
    lost = [mixed for mixed in applied if (mixed + mixes) & BITS_64 in extra]
    return _only([_accused(records, lost=[one], extra=[(one + mixes) & BITS_64]) for one in lost])


def _only(found: Sequence[Accused]) -> Accused | None:
    """Two that fit accuse nobody."""
    return found[0] if len(found) == 1 else None


def _runs(packed: Sequence[int], length: int, due: int) -> Iterator[Sequence[int]]:
    """All runs of so many records of a topic-partition whose mixes sum to `due`."""
    for begin, end in by_topic_partition(packed):
        if end - begin < length:
            continue
        mixes = array("Q", mix_unsigned(packed[begin:end]))
        off = sum(mixes[:length]) - due
        for at, (first, behind) in enumerate(zip(mixes, chain(mixes[length:], (0,)), strict=False), begin):
            if off & BITS_64 == 0:
                yield packed[at : at + length]
            off += behind - first


def _sums(mixes: Sequence[int], due: int, twice: Collection[int] = ()) -> list[tuple[int, int]]:
    """All pairs of mixes that sum to `due`; of `twice`, one with itself, too."""
    found = set(mixes).intersection([(due - mixed) & BITS_64 for mixed in mixes])
    pairs = {(min(one, other), max(one, other)) for one in found for other in [(due - one) & BITS_64]}
    return [pair for pair in pairs if pair[0] != pair[1] or pair[0] in twice]


def _accused(records: RowRecords, lost: Sequence[int] = (), extra: Sequence[int] = ()) -> Accused:
    """Records by their mixes."""
    many = sorted(map(unmix, extra))
    late = set(many).intersection(records.late)
    return Accused(
        sorted(map(unmix, lost)), [one for one in many if one not in late], [one for one in many if one in late]
    )
