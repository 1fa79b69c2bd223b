"""What a rule says of a record's columns: sums of them compared with a number, null or not, joined by and and or.

A condition is written as text and read here once; the naive fold asks it here, worker and Spark each translate it. Of
null columns nothing holds but that they are null.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

MOST_CHARACTERS = 4_000
"""Of a condition's text: more is no rule that anybody could read."""

HELP = (
    "it is written like 'fare_cents < 0', 'a - b > 5 or a is null', 'coalesce(a, 0) + b != 2 * c': whole numbers, "
    "columns, +, -, a number times a column, comparisons, 'is null', 'is not null', 'and', 'or'"
)

T = TypeVar("T")
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Numbers, numpy arrays and Spark's columns can all be compared so."""
_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">="}


class ConditionError(ValueError):
    """A text that is no condition; says what of it is not understood."""


class Term(NamedTuple):
    """A column times a number. `or_zero`: where it is null it counts as 0."""

    column: str
    factor: int
    or_zero: bool


@dataclass(frozen=True, slots=True)
class Inequality:
    """Whether the terms, summed, stand so to `value`; not where one of them is null."""

    terms: tuple[Term, ...]
    sign: str
    value: int


@dataclass(frozen=True, slots=True)
class Missing:
    """Whether a column is null, or is not."""

    column: str
    is_null: bool


@dataclass(frozen=True, slots=True)
class AllOf:
    """Whether all of these hold."""

    of: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Whether one of these holds, or more."""

    of: tuple[Condition, ...]


Condition = Inequality | Missing | AllOf | AnyOf


def read_condition(text: str) -> Condition:
    """The condition that a text says; ConditionError for any other text."""
    return _condition(_parsed(text))


def as_written(text: str) -> str:
    """The text as everyone would write it, whatever its spaces and brackets; ConditionError if it cannot be read."""
    return ast.unparse(_parsed(text))


def columns_of(condition: Condition) -> frozenset[str]:
    """The columns that a condition asks about."""
    return frozenset(column for part in parts_of(condition) for column in _asked(part))


def parts_of(condition: Condition) -> Iterator[Inequality | Missing]:
    """What `and` and `or` join in it."""
    if isinstance(condition, AllOf | AnyOf):
        for one in condition.of:
            yield from parts_of(one)
    else:
        yield condition


def holds(condition: Condition, values: Mapping[str, Any]) -> bool:
    """Whether it holds of a record with these values."""
    match condition:
        case AllOf(of):
            return all(holds(one, values) for one in of)
        case AnyOf(of):
            return any(holds(one, values) for one in of)
        case Missing(column, is_null):
            return (values[column] is None) == is_null
        case Inequality(terms, sign, value):
            if any(values[term.column] is None and not term.or_zero for term in terms):
                return False
            total = sum(term.factor * int(values[term.column] or 0) for term in terms)
            return bool(COMPARISONS[sign](total, value))


def _asked(part: Inequality | Missing) -> tuple[str, ...]:
    return (part.column,) if isinstance(part, Missing) else tuple(term.column for term in part.terms)


def _parsed(text: str) -> ast.expr:
    if len(text) > MOST_CHARACTERS:
        raise ConditionError(f"it has {len(text)} characters, more than {MOST_CHARACTERS}")
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
        ast.unparse(parsed)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ConditionError(f"{text!r} is not understood; {HELP}") from None
    return parsed


def _condition(told: ast.expr) -> Condition:
    match told:
        case ast.BoolOp(ast.And(), parts):
            return AllOf(tuple(map(_condition, parts)))
        case ast.BoolOp(ast.Or(), parts):
            return AnyOf(tuple(map(_condition, parts)))
        case ast.Compare(ast.Name(column), [ast.Is() | ast.IsNot() as how], [ast.Name("null")]):
            return Missing(column, isinstance(how, ast.Is))
        case ast.Compare(left, signs, others):
            chain = zip(pairwise([left, *others]), signs, strict=True)
            compared = tuple(_comparison(*sides, sign) for sides, sign in chain)
            return compared[0] if len(compared) == 1 else AllOf(compared)
    raise _not_understood(told)


def _comparison(left: ast.expr, right: ast.expr, sign: ast.cmpop) -> Inequality:
    if type(sign) not in _SIGNS:
        raise _not_understood(ast.Compare(left, [sign], [right]))
    summed = _sum(left, 1) + _sum(right, -1)
    factors, value = Counter[tuple[str, bool]](), 0
    for name, factor, or_zero in summed:
        if name:
            factors[name, or_zero] += factor
        else:
            value -= factor
    if not factors:
        raise ConditionError(f"{ast.unparse(left)!r} is compared, and there is no column in it")
    terms = tuple(Term(column, factor, or_zero) for (column, or_zero), factor in factors.items())
    return Inequality(terms, _SIGNS[type(sign)], value)


def _sum(told: ast.expr, factor: int) -> list[Term]:
    """The terms of one side, each times the factor; a number is a term without a column."""
    match told:
        case ast.Name(column) if column != "null":
            return [Term(column, factor, False)]
        case ast.Call(ast.Name("coalesce"), [ast.Name(column), ast.Constant(0)], []):
            return [Term(column, factor, True)]
        case ast.Constant(value) if type(value) is int:
            return [Term("", factor * value, False)]
        case ast.UnaryOp(ast.USub(), inner):
            return _sum(inner, -factor)
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            return _sum(left, factor) + _sum(right, factor if isinstance(sign, ast.Add) else -factor)
        case ast.BinOp(ast.Constant(value), ast.Mult(), inner) | ast.BinOp(inner, ast.Mult(), ast.Constant(value)) if (
            type(value) is int
        ):
            return _sum(inner, factor * value)
    raise _not_understood(told)


def _not_understood(told: ast.AST) -> ConditionError:
    return ConditionError(f"{ast.unparse(told)!r} is not understood; {HELP}")
