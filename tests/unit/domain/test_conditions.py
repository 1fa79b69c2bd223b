"""Conditions of rules: what their text says, and which texts are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.cleanliness.condition import AllOf, AnyOf, ConditionError, Inequality, Missing, Term, as_written, holds
from app.domain.cleanliness.condition import read_condition as read
from app.domain.errors import DefinitionError
from app.domain.source import Action, Column, Kind, Rule, Source
from app.rides.ride import RIDES


def test_a_text_says_sums_of_columns_compared_with_a_number() -> None:
    assert read("fare < 0") == Inequality((Term("fare", 1, False),), "<", 0)
    assert read("a - b > 5") == Inequality((Term("a", 1, False), Term("b", -1, False)), ">", 5)
    assert read("2 * (a - 3) != -coalesce(b, 0) + 1") == Inequality((Term("a", 2, False), Term("b", 1, True)), "!=", 7)


def test_comparisons_are_joined_by_and_and_or() -> None:
    assert read("a is null and b is not null") == AllOf((Missing("a", True), Missing("b", False)))
    assert read("a == 1 or (b == 2 and c == 3)") == AnyOf((read("a == 1"), AllOf((read("b == 2"), read("c == 3")))))
    assert read("264 <= zone <= 265") == AllOf((read("264 <= zone"), read("zone <= 265")))


def test_spaces_brackets_and_underscores_change_nothing_of_what_is_written() -> None:
    assert as_written(" (a<1_000)  and ((b is  null))") == as_written("a < 1000 and b is null")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a <",
        "a < 'b'",
        "a < 1.5",
        "a * b < 1",
        "a / 2 < 1",
        "not a < 1",
        "a < True",
        "1 < 2",
        "null < 1",
        "a is None",
        "a in (1, 2)",
        "coalesce(a, 1) < 2",
        "coalesce(a, b) < 2",
        "__import__('os').system('true') < 1",
        "a < 1; b < 2",
        "(" * 300 + "a" + ")" * 300 + " < 1",
        "-" * 3_990 + "a < 1",
        "a\0 < 1",
        "a < 1 or " * 500 + "a < 1",
    ],
    ids=lambda text: text[:30],
)
def test_any_other_text_is_refused_in_words(text: str) -> None:
    with pytest.raises(ConditionError, match=r"is not understood|no column in it|more than 4000"):
        read(text)


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        ("a < 0", [{"a": -1}]),
        ("a != 0", [{"a": -1}, {"a": 2}]),
        ("a is null", [{"a": None}]),
        ("coalesce(a, 0) == 0", [{"a": None}, {"a": 0}]),
        ("a is null or a == 2", [{"a": None}, {"a": 2}]),
    ],
)
def test_of_null_nothing_holds_but_that_it_is_null(text: str, holding: list[dict[str, int | None]]) -> None:
    given: list[dict[str, int | None]] = [{"a": None}, {"a": -1}, {"a": 0}, {"a": 2}]
    assert [values for values in given if holds(read(text), values)] == holding


def ruled(*rules: Rule) -> Source:
    boundless = Column("boundless", Kind.IDENTIFIER, True)
    return replace(RIDES, columns=(*RIDES.columns, boundless), rules=rules)


@pytest.mark.parametrize(
    ("name", "when", "problem"),
    [
        ("odd", "fare < 0", "rule 'odd': no column 'fare'"),
        ("odd", "pickup_zon == 1", "did you mean 'pickup_zone'?"),
        ("odd", "vendor == 1", "rule 'odd': column 'vendor' is text: it is null or not"),
        ("odd", "boundless - pickup_zone > 1", "rule 'odd': 'boundless' need bounds (low and high)"),
        ("odd", "9223372036 * total_cents < 1", "may compare numbers beyond 2**62"),
        ("odd", "boundless < 9_223_372_036_854_775_808", "may compare numbers beyond 2**62"),
        ("odd", "fare_cents <", "is not understood; it is written like"),
        ("offset", "fare_cents < 0", "a record's place is called so"),
        ("two words", "fare_cents < 0", "no name of an Avro field"),
        ("Fare_cents", "fare_cents < 0", "two columns are called 'fare_cents'"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_its_name(name: str, when: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        ruled(Rule(name, Action.COUNT, when))
    assert problem in str(refused.value)


def test_text_may_be_null_and_a_boundless_column_compared_alone() -> None:
    ruled(Rule("odd", Action.COUNT, "vendor is null or boundless == 7 or shared == 1"))
