"""Laws of measures: rows merge in any order and any grouping, so no batching can change a figure (rule 11)."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.contribution import contribution
from app.domain.fingerprint import INT64_MAX, INT64_MIN
from app.domain.measures.kinds import MEASURES
from app.domain.measures.parts import MERGERS, Merger, Op, merge_part
from app.domain.rows import merge_rows
from app.domain.view import View
from app.edge.http.documents import schemas
from app.engine.core.cells import mergers as agg
from tests.support.material.histories import TOPIC_NAMES, random_log
from tests.support.material.views import ALL_VIEWS, EVERYTHING

INT64 = st.integers(INT64_MIN, INT64_MAX)
SMALL = st.integers(-2, 2)
"""Values that tie often."""

UNTOLD = Merger((0,), lambda left, right: (left[0] | right[0],))
"""Bits: what one gives up may be another's. It does not say what becomes of a value that is replaced."""

OPS = pytest.mark.parametrize("op", list(Op), ids=lambda op: op.value)
VIEWS = pytest.mark.parametrize("view", ALL_VIEWS, ids=lambda view: view.name)


def cells_of(op: Op) -> st.SearchStrategy[tuple[int, ...]]:
    """What a part of this kind may hold, the neutral element often among it."""
    cells = st.one_of(INT64, SMALL)
    return st.one_of(st.just(op.neutral), st.tuples(*[cells] * op.width))


def rows(seed: int, count: int) -> list[tuple[int, ...]]:
    """Rows that single records make, of a view with every kind of measure."""
    records = [
        record
        for record in random_log(random.Random(seed), TOPIC_NAMES[0], 0, 2 * count + 5).records
        if record.values["pickup_at_us"] is not None
    ]
    return [contribution(EVERYTHING, record) for record in records[:count]]


@OPS
@given(data=st.data())
def test_merging_is_associative_and_commutative_with_a_neutral_element(op: Op, data: st.DataObject) -> None:
    one, two, three = (data.draw(cells_of(op)) for _ in range(3))
    assert merge_part(op, one, merge_part(op, two, three)) == merge_part(op, merge_part(op, one, two), three)
    assert merge_part(op, one, two) == merge_part(op, two, one)
    assert merge_part(op, one, op.neutral) == one


@pytest.mark.parametrize("merger", [*MERGERS.values(), UNTOLD], ids=[*(op.value for op in MERGERS), "untold"])
@given(data=st.data())
def test_a_replaced_part_is_what_merging_all_anew_gives_or_is_not_told(merger: Merger, data: st.DataObject) -> None:
    """A correction in one task revises the final of all: whoever merges otherwise must not be guessed at."""
    cell = st.one_of(SMALL, st.sampled_from(merger.neutral[:1]))
    old, new, *others = (tuple(data.draw(cell) for _ in merger.neutral) for _ in range(data.draw(st.integers(2, 5))))
    merged, anew = (functools.reduce(merger.merge, [one, *others], merger.neutral) for one in (old, new))
    assert merger.replaced(merged, old, new) in (anew, None)


@pytest.mark.parametrize("merger", [*MERGERS.values(), UNTOLD], ids=[*(op.value for op in MERGERS), "untold"])
@given(data=st.data())
def test_what_was_added_to_one_part_is_added_to_another_or_is_not_told(merger: Merger, data: st.DataObject) -> None:
    """A record that was added to a row that was wrong belongs into the right one."""
    cell = st.one_of(SMALL, st.sampled_from(merger.neutral[:1]))
    old, base, added = (tuple(data.draw(cell) for _ in merger.neutral) for _ in range(3))
    assert merger.add(base, old, merger.merge(old, added)) in (merger.merge(base, added), None)


@given(*[st.tuples(INT64)] * 3)
def test_what_adds_up_is_always_told(old: tuple[int], new: tuple[int], other: tuple[int]) -> None:
    adding = MERGERS[Op.ADD]
    assert adding.replaced(adding.merge(old, other), old, new) == adding.merge(new, other)
    assert adding.add(other, old, adding.merge(old, new)) == adding.merge(other, new)


@pytest.mark.parametrize("op", [Op.MIN, Op.MAX, Op.FIRST, Op.LAST])
def test_a_choice_is_told_unless_the_chosen_one_is_given_up(op: Op) -> None:
    low, mid, high = ((cell,) * op.width for cell in (1, 2, 3))
    best, worst = (low, high) if op in (Op.MIN, Op.FIRST) else (high, low)
    chosen = MERGERS[op]
    assert (chosen.replaced(mid, worst, best), chosen.replaced(best, mid, worst)) == (best, best)
    assert (chosen.replaced(best, best, mid), chosen.replaced(best, op.neutral, mid)) == (None, best)
    assert (chosen.add(worst, mid, best), chosen.add(best, mid, mid), chosen.add(worst, mid, mid)) == (best, best, None)


@OPS
@given(data=st.data())
def test_a_merged_part_stays_in_64_bits(op: Op, data: st.DataObject) -> None:
    """Fingerprints wrap around; nothing else reaches the end (bounds)."""
    merged = merge_part(op, data.draw(cells_of(op)), data.draw(cells_of(op)))
    assert len(merged) == op.width
    assert all(INT64_MIN <= cell <= INT64_MAX for cell in merged)


def test_the_laws_are_tried_on_every_kind_of_measure() -> None:
    """Else a kind could break its law unseen."""
    assert {type(measure) for measure in EVERYTHING.measures} == set(MEASURES.values())
    assert {part.op for part in EVERYTHING.parts} == set(Op)


def test_what_is_shown_of_a_row_is_what_its_schema_says() -> None:
    """Of a row that no record has touched: what can be null is null there."""
    told = EVERYTHING.present(EVERYTHING.neutral)
    assert list(told) == [shown.name for shown in EVERYTHING.shown]
    schema = schemas.row(EVERYTHING)["properties"]["measures"]
    assert list(schema["properties"]) == list(told)
    for name, value in told.items():
        said = schema["properties"][name]
        assert (value is None) == ("anyOf" in said)
        assert said.get("minItems") == said.get("maxItems") == (len(value) if isinstance(value, list) else None)


@given(st.integers(1, 100), st.integers(1, 1000))
def test_a_measure_that_adds_up_has_a_typical_value_and_no_other_has(count: int, cell: int) -> None:
    nothing, something = dict.fromkeys(EVERYTHING.cells, 0), dict.fromkeys(EVERYTHING.cells, cell) | {"count": count}
    for measure in EVERYTHING.measures:
        if measure.adds_up:
            assert measure.typical(nothing) is None
            assert measure.typical(something) is not None
        else:
            with pytest.raises(ValueError, match=measure.name):
                measure.typical(something)


@given(seed=st.integers(0, 2**32), order=st.randoms(use_true_random=False), count=st.integers(0, 25))
def test_rows_merge_to_the_same_row_in_any_order_and_any_split_into_batches(
    seed: int, order: random.Random, count: int
) -> None:
    whole = rows(seed, count)
    shuffled = whole.copy()
    order.shuffle(shuffled)
    cuts = sorted(order.randrange(len(whole) + 1) for _ in range(3))
    batches = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert merge_rows(EVERYTHING, [merge_rows(EVERYTHING, batch) for batch in batches]) == merge_rows(EVERYTHING, whole)


@given(seed=st.integers(0, 2**32), count=st.integers(0, 12))
def test_no_batch_at_all_is_the_neutral_row(seed: int, count: int) -> None:
    assert merge_rows(EVERYTHING, []) == EVERYTHING.neutral
    for row in rows(seed, count):
        assert EVERYTHING.merge(row, EVERYTHING.neutral) == row


@VIEWS
@given(data=st.data())
def test_the_worker_merges_arrays_as_the_definition_merges_rows(view: View, data: st.DataObject) -> None:
    """Ties of first and last are decided by the origin, which no two records share."""
    row = st.tuples(*(st.one_of(SMALL, st.just(cell)) for cell in view.neutral))
    pairs = data.draw(st.lists(st.tuples(row, row), min_size=1, max_size=8))
    left, right = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    merged = [tuple(row) for row in agg.merge(view, left, right).tolist()]
    for (one, other), both in zip(pairs, merged, strict=True):
        if not _same_stamp(view, one, other):
            assert both == view.merge(one, other)


def _same_stamp(view: View, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a first or last of both rows claims the same time and origin: impossible but for the neutral triple."""
    at = 0
    for part in view.parts:
        if part.op.width == 3 and one[at : at + 2] == other[at : at + 2]:
            return True
        at += part.op.width
    return False
