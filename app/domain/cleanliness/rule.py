"""A rule of cleanliness as data: what is odd about a record, and what follows from it (docs/cleanliness.md).

A record that a rule holds of has 1 in a column of the rule's name, any other 0: views count by it as by any column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

from app.domain.cleanliness.condition import (
    Condition,
    ConditionError,
    Missing,
    as_written,
    columns_of,
    parts_of,
    read_condition,
)
from app.domain.column import Column, Kind
from app.domain.errors import StateError, did_you_mean

MOST = 1 << 62
"""What a rule compares stays below, so that no sum overflows 64 bits."""


class Action(StrEnum):
    """What becomes of a record that a rule holds of."""

    COUNT = "count"  # it is used by all views; those that sum the rule's column count it
    MARK = "mark"  # likewise, and views may leave it out
    QUARANTINE = "quarantine"  # it is unusable


@dataclass(frozen=True)
class Rule:
    """`when` says of which records it holds (`app.domain.cleanliness.condition`); `name` is that of its column."""

    name: str
    action: Action
    when: str
    help: str = ""

    @cached_property
    def condition(self) -> Condition:
        """ConditionError if `when` is none."""
        return read_condition(self.when)

    @cached_property
    def column(self) -> Column:
        """1 where the rule holds, else 0."""
        return Column(self.name, Kind.INTEGER, False, 0, 1, self.help)

    @cached_property
    def columns(self) -> frozenset[str]:
        """What it asks about."""
        return columns_of(self.condition)

    @property
    def meaning(self) -> str:
        """The same for rules that hold of the same records."""
        return as_written(self.when)


@dataclass(frozen=True, slots=True)
class Refusing:
    """A rule by which records were quarantined, as a marker tells it: it may be gone from the definition."""

    rule: str
    when: str


def refusing(rules: Iterable[Rule]) -> tuple[Refusing, ...]:
    """Those rules that quarantine, in their order."""
    return tuple(Refusing(rule.name, rule.meaning) for rule in rules if rule.action is Action.QUARANTINE)


@lru_cache
def condition_of(refusing: Refusing, asked: frozenset[str]) -> Condition:
    """When it refuses; StateError if it asks for a column that is not among these any more."""
    condition = read_condition(refusing.when)
    if gone := sorted(columns_of(condition) - asked):
        raise StateError(
            f"records were quarantined by the rule {refusing.rule!r} ({refusing.when}), and its source has no column "
            f"{gone[0]!r} any more: what was judged by it cannot be judged again; declare the column as it was"
        )
    return condition


def rule_problems(rule: Rule, by_name: Mapping[str, Column]) -> Iterator[str]:
    """What is wrong with its condition, asked about these columns."""
    try:
        condition = rule.condition
    except ConditionError as error:
        yield str(error)
        return
    if unknown := sorted(rule.columns - by_name.keys()):
        yield from (f"no column {name!r}{did_you_mean(name, by_name)}" for name in unknown)
        return
    for part in parts_of(condition):
        if isinstance(part, Missing):
            continue
        columns = [by_name[term.column] for term in part.terms]
        if texts := sorted({column.name for column in columns if column.kind is Kind.TEXT}):
            yield from (f"column {name!r} is text: it is null or not, and is compared with nothing" for name in texts)
            continue
        is_alone = len(part.terms) == 1 and part.terms[0].factor == 1
        largest = [_largest(column) for column in columns]
        if not is_alone and None in largest:
            boundless = sorted({c.name for c, most in zip(columns, largest, strict=True) if most is None})
            yield f"{' and '.join(map(repr, boundless))} need bounds (low and high) to be added or multiplied"
        elif abs(part.value) > MOST or sum(_reach(part.terms[i].factor, most) for i, most in enumerate(largest)) > MOST:
            yield f"'{rule.when}' may compare numbers beyond 2**62"


def _largest(column: Column) -> int | None:
    if column.kind is Kind.FLAG:
        return 1
    if column.low is None or column.high is None:
        return None
    return max(abs(column.low), abs(column.high))


def _reach(factor: int, largest: int | None) -> int:
    return 0 if largest is None else abs(factor) * largest
