"""Every kind of part is merged by every engine, and all of them give the same; each makes every kind of column."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.definitions import sources as definitions
from app.domain.column import DERIVED
from app.domain.measures import parts as m
from app.edge.http.rows import mergers as answers
from app.engine.core.cells import grouping
from app.engine.core.cells import mergers as merged
from app.engine.core.records import derived as worker_columns
from spark_batch.folds import mergers as spark
from spark_batch.source import derived as spark_columns

CELL = st.integers(m.INT64_MIN, m.INT64_MAX)


@pytest.mark.parametrize(
    "table",
    [m.MERGERS, merged.MERGERS, answers.MERGERS, spark.MERGERS],
    ids=["domain", "worker", "answers", "spark"],
)
def test_every_kind_of_part_has_a_merger(table: dict[m.Op, Any]) -> None:
    assert set(table) == set(m.Op)


def test_what_a_record_gives_is_known_to_the_worker() -> None:
    assert set(merged.TAKERS) == set(m.Take)


def test_each_kind_of_derived_column_is_read_from_definitions_and_made_by_both_engines() -> None:
    assert set(definitions.READERS) == set(DERIVED.values())
    assert set(worker_columns.MAKERS) == set(spark_columns.MAKERS) == set(DERIVED.values())


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
    if len({value[:2] for value in values}) == len(values):  # an origin is one record's: it has one value
        assert tuple(kept[0].tolist()) == told
