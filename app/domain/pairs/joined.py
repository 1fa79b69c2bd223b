"""Sides, kinds and columns of joins (`app.domain.pairs.join`): what joined records have, and what may be null."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.domain.column import Column, widest
from app.domain.pairs.half import Half

LEFT_ORIGIN, RIGHT_ORIGIN = "left_origin", "right_origin"
"""Columns of a joined record: the packed origins (`app.domain.fingerprint`) of its two halves."""


class Side(StrEnum):
    LEFT = "left"
    RIGHT = "right"

    @property
    def other(self) -> Side:
        return Side.RIGHT if self is Side.LEFT else Side.LEFT


class JoinKind(StrEnum):
    """Whose halves are joined to nothing when they leave unmatched; they are told as unmatched in any case."""

    INNER = "inner"
    LEFT = "left"
    OUTER = "outer"

    def may_lack(self, side: Side) -> bool:
        """Whether a joined record may be without this side."""
        return self is JoinKind.OUTER or (self is JoinKind.LEFT and side is Side.RIGHT)


@dataclass(frozen=True, slots=True)
class Taken:
    """A column of the joined record: which column of which side it is."""

    name: str
    side: Side
    column: str


@dataclass(frozen=True, slots=True)
class Either:
    """A column of the joined record that both sides know: the left side's value, or where it has none the right's."""

    name: str
    left: str
    right: str

    def column_of(self, side: Side) -> str:
        return self.left if side is Side.LEFT else self.right


def joined_column(taken: Taken | Either, halves: Mapping[Side, Half], kind: JoinKind, reported_at: str) -> Column:
    """What a column of the joined record may hold; null where its side may be missing.

    A half that counts has an id and a time, so those are never null in `reported_at` and in an `Either`.
    """
    held: list[tuple[Column, bool, bool]] = []
    for side in Side:
        if (name := taken_of(taken, side)) is not None:
            half, lacking = halves[side], kind.may_lack(side)
            sure = name in (half.id, half.at) and (isinstance(taken, Either) or taken.name == reported_at)
            held.append((half.source.by_name[name], lacking, half.source.by_name[name].nullable and not sure))
    of = held[0][0]
    if isinstance(taken, Taken):
        return Column(taken.name, of.kind, held[0][1] or held[0][2], of.low, of.high, of.help)
    # null only if some half that may stand alone has none, or both have none
    alone = [
        unknown for (_, _, unknown), (_, other_lacking, _) in zip(held, reversed(held), strict=True) if other_lacking
    ]
    nullable = any(alone) or all(unknown for _, _, unknown in held)
    low, high = widest([column for column, _, _ in held])
    return Column(taken.name, of.kind, nullable, low, high, of.help)


def taken_of(taken: Taken | Either, side: Side) -> str | None:
    if isinstance(taken, Either):
        return taken.column_of(side)
    return taken.column if taken.side is side else None
