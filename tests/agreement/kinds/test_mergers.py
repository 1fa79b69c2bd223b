"""Every kind of part is merged by every engine, and all of them give the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.contribution import contribution
from app.domain.fingerprint import INT64_MAX, INT64_MIN, Origin, mix, pack
from app.domain.measures import parts as m
from app.domain.measures.contract import Measure, Shown
from app.domain.records import Record
from app.domain.source import Source, with_derived
from app.edge.http.rows import mergers as answers
from app.engine.core.cells import grouping
from app.engine.core.cells import mergers as merged
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS
from spark_batch.folds import mergers as spark

CELL = st.integers(INT64_MIN, INT64_MAX)
COLUMN = "fare_cents"
TOPIC = RIDES.topics[0]


@dataclass(frozen=True)
class _One(Measure):
    """A measure of one part."""

    key = "one"
    part: m.Part
    name: str = "taken"
    help: str = ""
    column: str | None = COLUMN

    def parts(self, source: Source) -> tuple[m.Part, ...]:
        return (self.part,)

    def shown(self, source: Source) -> tuple[Shown, ...]:
        return ()


def records_of(values: Iterable[int | None]) -> list[Record]:
    """Rides of one instant with these fares."""
    (ride,) = Generator(seed=1, dirt=Dirt.none()).rides(0, 1).select(c.name for c in RIDES.columns).to_dicts()
    return [Record(TOPIC.name, 0, at, 0, ride | {COLUMN: value}) for at, value in enumerate(values)]


@pytest.mark.parametrize(
    "table",
    [m.MERGERS, merged.MERGERS, answers.MERGERS, spark.MERGERS],
    ids=["domain", "worker", "answers", "spark"],
)
def test_every_kind_of_part_has_a_merger(table: dict[m.Op, Any]) -> None:
    assert set(table) == set(m.Op)


def test_what_a_record_gives_is_known_to_the_worker() -> None:
    assert set(merged.TAKERS) == set(m.Take)


OPS_OF = {
    m.Take.ONE: (m.Op.ADD,),
    m.Take.FINGERPRINT: (m.Op.ADD,),
    m.Take.PRESENT: (m.Op.ADD,),
    m.Take.BIN: (m.Op.ADD,),
    m.Take.VALUE: (m.Op.ADD, m.Op.MIN, m.Op.MAX),
    m.Take.STAMPED: (m.Op.FIRST, m.Op.LAST),
}
BESIDE = 77
"""What stands in the cell behind a part's, where nothing may be written."""


@pytest.mark.parametrize(("take", "op"), [(take, op) for take in m.Take for op in OPS_OF[take]])
@given(values=st.lists(st.none() | st.integers(0, 1000), min_size=1, max_size=5))
def test_the_worker_takes_of_records_what_the_domain_says(take: m.Take, op: m.Op, values: list[int | None]) -> None:
    has_column = take not in (m.Take.ONE, m.Take.FINGERPRINT)
    part = m.Part("taken", op, take, COLUMN if has_column else None, *((100, 500) if take is m.Take.BIN else ()))
    records = records_of(values)
    view = replace(VENDOR_TRIPS, measures=(_One(part),))
    told = reduce(view.merge, (contribution(view, record) for record in records))

    read = merged.read_by(view)
    origins = [pack(Origin(TOPIC.number, 0, at)) for at in range(len(records))]
    reported_at = [with_derived(RIDES, record.values)[RIDES.reported_at] for record in records]
    held = [reported_at, origins, [mix(origin) for origin in origins]]
    held += [[int(r.values[name] or 0) for r in records] for name in read]
    present = [[True] * len(records)] * 3 + [[r.values[name] is not None for r in records] for name in read]
    kept = np.array([(*view.neutral, BESIDE)], np.int64)
    here = np.zeros(len(records), np.int64)
    grouping.fold_parts(here, np.array(held, np.int64), np.array(present), merged.program(view), kept)
    assert tuple(kept[0].tolist()) == (*told, BESIDE)


@pytest.mark.parametrize(("op", "take"), [(len(m.Op), 0), (-1, 0), (0, max(merged.TAKERS.values()) + 1), (0, -1)])
def test_a_kind_of_part_without_a_branch_is_refused_by_the_loops(op: int, take: int) -> None:
    here, cells, parts = np.zeros(1, np.int64), np.zeros((1, 4), np.int64), np.array([(op, take, 0, 0, 0, 0)], np.int64)
    with pytest.raises(ValueError, match="no branch"):
        grouping.fold_parts(here, np.zeros((3, 1), np.int64), np.ones((3, 1), bool), parts, cells)
    if take == 0:
        with pytest.raises(ValueError, match="no branch"):
            grouping.merge_parts(cells, here, cells.copy(), parts)


@pytest.mark.parametrize("op", m.Op)
@given(data=st.data())
def test_worker_and_answers_merge_as_the_domain_says(op: m.Op, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.tuples(*[CELL] * op.width), min_size=1, max_size=6))
    cells = np.array(values, np.int64)
    told = reduce(lambda left, right: m.merge_part(op, left, right), values, op.neutral)
    kept = np.array([op.neutral], np.int64)
    program = np.array([(merged.MERGERS[op], 0, 0, 0, 0, 0)], np.int64)
    grouping.merge_parts(cells, np.zeros(len(values), np.int64), kept, program)
    assert tuple(answers.MERGERS[op](cells, np.array([0], np.intp))[0].tolist()) == told
    assert kept[0, :2].tolist() == list(told[:2])
    if len({one[:2] for one in (op.neutral, *values)}) > len(values):  # an origin is one record's: it has one value
        assert tuple(kept[0].tolist()) == told
