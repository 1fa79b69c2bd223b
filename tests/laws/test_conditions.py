"""A rule's condition says what it says, or is refused in words: whatever stands in its text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.domain.cleanliness.condition import ConditionError, as_written, columns_of, holds, read_condition

PIECES = [
    "a",
    "b",
    "null",
    "is",
    "not",
    "and",
    "or",
    "in",
    "<",
    "<=",
    "==",
    "!=",
    "=",
    ">",
    "+",
    "-",
    "*",
    "/",
    "(",
    ")",
]
MORE = [
    "coalesce(a, 0)",
    "coalesce",
    ",",
    "0",
    "1",
    "2_000",
    "1.5",
    "'x'",
    "True",
    "None",
    "\n",
    "\\",
    "#",
    ":=",
    "lambda",
]
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES + MORE), max_size=12).map(" ".join))
COMPARED = st.lists(st.sampled_from(["a < 1", "a - 2 * b != 3", "a is null", "1 <= b <= 2", "coalesce(a, 0) == b"]))
VALUES = st.fixed_dictionaries({"a": st.none() | st.integers(-3, 3), "b": st.none() | st.integers(-3, 3)})


@given(TEXTS)
def test_any_text_is_a_condition_or_is_refused_in_words(text: str) -> None:
    """Those that everyone would write are none of the refused: the next law."""
    try:
        condition = read_condition(text)
    except ConditionError:
        return
    assert holds(condition, dict.fromkeys(columns_of(condition), 1)) in {True, False}


@given(COMPARED.filter(bool), st.sampled_from([" and ", " or "]), VALUES)
def test_a_condition_written_as_everyone_would_says_the_same(
    parts: list[str], joined_by: str, values: dict[str, int | None]
) -> None:
    text = joined_by.join(f"({part})" for part in parts)
    assert read_condition(as_written(text)) == read_condition(text)
    each = [holds(read_condition(part), values) for part in parts]
    assert holds(read_condition(text), values) == (all(each) if joined_by == " and " else any(each))
