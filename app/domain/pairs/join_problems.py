"""What is wrong with the definition of a join, every mistake in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.domain.pairs.half import half_problems, selection_problems
from app.domain.pairs.joined import LEFT_ORIGIN, RIGHT_ORIGIN, Either, Side, joined_column, taken_of
from app.domain.source import Kind

if TYPE_CHECKING:
    from app.domain.pairs.join import Join


def join_problems(join: Join) -> Iterator[str]:
    """Nothing if the join can be."""
    if not 0 < join.number < 1 << 16:
        yield f"number {join.number} is not in 1..65535"
    if join.bound_seconds < 0 or join.grace_seconds < 0:
        yield "bound_seconds and grace_seconds may not be negative"
    if join.left.topic == join.right.topic:
        yield from selection_problems("left", join.left, "right", join.right)
    for side in Side:
        yield from half_problems(side, join.half(side))
    unknown = list(_unknown_columns(join))
    yield from unknown
    names = [taken.name for taken in join.columns]
    if len(set(names)) != len(names):
        yield f"column names are used twice: {names}"
    for name in sorted({LEFT_ORIGIN, RIGHT_ORIGIN} & set(names)):
        yield f"column name {name!r} is the joined record's own"
    for role, name in (("key", join.key), ("reported_at", join.reported_at)):
        if name not in names:
            yield f"{role} column {name!r} is not among the joined columns"
    if not unknown:
        yield from _column_problems(join)


def _unknown_columns(join: Join) -> Iterator[str]:
    for taken in join.columns:
        for side in Side:
            name = taken_of(taken, side)
            if name is not None and name not in join.half(side).source.by_name:
                yield f"column {taken.name!r}: no column {name!r} on the {side} side"


def _column_problems(join: Join) -> Iterator[str]:
    for taken in join.columns:
        if isinstance(taken, Either):
            left, right = (join.half(side).source.by_name[taken.column_of(side)].kind for side in Side)
            if left is not right:
                yield f"column {taken.name!r}: {left} on the left side, {right} on the right"
        column = joined_column(join, taken)
        if taken.name != join.reported_at:
            continue
        if column.kind is not Kind.INSTANT:
            yield f"reported_at column {taken.name!r} is {column.kind}, not {Kind.INSTANT}"
        if column.nullable:
            yield (
                f"reported_at column {taken.name!r} may be null in a joined record of kind {join.kind}; take the time "
                "of a half that is always there, or Either of both"
            )
