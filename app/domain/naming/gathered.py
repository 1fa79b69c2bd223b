"""What all rows of a view accuse, told together: a batch that was applied twice is one run, whatever rows it met."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.difference import DifferenceKind
from app.domain.naming.evidence import Evidence
from app.domain.naming.row_difference import RowDifference
from app.domain.naming.runs import OffsetRun, by_topic_partition, runs_of
from app.domain.view import View


@dataclass(frozen=True, slots=True)
class NamedRun:
    """Records that follow one another among those that the view applied, of one kind of difference in all their rows.

    `row_count`: in how many rows they make a difference.
    """

    kind: DifferenceKind
    run: OffsetRun
    row_count: int


def gathered(view: View, differences: Sequence[RowDifference], evidence: Evidence) -> list[NamedRun]:
    """All named records as runs, by kind."""
    named: dict[DifferenceKind, list[tuple[int, int]]] = defaultdict(list)
    for at, one in enumerate(differences):
        named[one.kind] += [(origin, at) for origin in one.changes]
    return [run for kind in sorted(named) for run in _runs(view, kind, sorted(named[kind]), evidence)]


def _runs(view: View, kind: DifferenceKind, named: Sequence[tuple[int, int]], evidence: Evidence) -> Iterator[NamedRun]:
    origins = sorted({origin for origin, _ in named})
    bounds = [(origins[begin], origins[end - 1]) for begin, end in by_topic_partition(origins)]
    gaps = [(first, last) for first, last in bounds if first != last]
    told, begin = 0, 0
    for run in runs_of(view.source, origins, evidence.applied_between(gaps) if gaps else ()):
        told += run.record_count
        end = bisect_left(named, (origins[told - 1] + 1, 0))
        yield NamedRun(kind, run, len({row for _, row in named[begin:end]}))
        begin = end
