"""What is refused of a join's or alert's definition, every mistake at once, and what its version is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import DefinitionError
from app.domain.pairs.join import Either, Half, Join, JoinKind, Only, Side, Taken
from app.engine.core.definition import TaskDefinition
from app.testkit.simulation.sent_on import SIGNED
from tests.support.material.pairing.calls import (
    BILLED,
    BILLS,
    CALLS,
    ENDS,
    EVENTS,
    LONG,
    PAID,
    SCHEMA_IDS,
    STARTS,
    WHOLE,
)

ALL_ENDS = Half(CALLS, EVENTS, "call_id", "at_us")


def starts(column: str, *values: Any) -> Half:
    return replace(STARTS, only=Only(column, values))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"right": ALL_ENDS}, "both topic 'calls.events': say with Only"),
        ({"right": replace(ENDS, only=Only("place", (1,)))}, "by two columns, 'what' and 'place'"),
        ({"right": replace(ENDS, only=Only("what", ("START", "END")))}, "left and right both select 'what' = 'START'"),
        (
            {"left": starts("hue", "x")},
            "selected by 'hue', which is no column of source 'calls'",
        ),
        ({"left": starts("what")}, "left: selected by no value of 'what'"),
        ({"left": starts("place", "1")}, "column 'place' is identifier; '1' is no int"),
        (
            {"left": starts("at_us", 1)},
            "column 'at_us' is instant, by which nothing is selected",
        ),
        ({"left": replace(STARTS, at="what")}, "left: column 'what' is text, not instant"),
        ({"columns": (Taken("x", Side.LEFT, "y"),)}, "column 'x': no column 'y' on the left side"),
        ({"columns": (Either("x", "place", "what"),)}, "column 'x': identifier on the left side, text on the right"),
        (
            {"columns": (Taken("left_origin", Side.LEFT, "place"),)},
            "name 'left_origin' is the joined record's own",
        ),
        ({"reported_at": "call_id"}, "reported_at column 'call_id' is text, not instant"),
    ],
)
def test_a_join_that_cannot_be_is_refused_in_words(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        replace(WHOLE, **changes)
    assert problem in str(refused.value)


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(DefinitionError) as refused:
        replace(WHOLE, number=0, bound_seconds=-1, right=ALL_ENDS, key="none")
    assert len(refused.value.problems) == 4


@pytest.mark.parametrize(
    ("kind", "side", "may_be"),
    [
        (JoinKind.INNER, Side.LEFT, True),
        (JoinKind.INNER, Side.RIGHT, True),
        (JoinKind.LEFT, Side.LEFT, True),
        (JoinKind.LEFT, Side.RIGHT, False),
        (JoinKind.OUTER, Side.LEFT, False),
        (JoinKind.OUTER, Side.RIGHT, False),
    ],
)
def test_the_time_of_joined_records_must_be_that_of_a_side_that_is_always_there(
    kind: JoinKind, side: Side, may_be: bool
) -> None:
    columns = (*PAID.columns, Taken("when_us", side, "at_us" if side is Side.LEFT else "billed_at_us"))
    changes: dict[str, Any] = {"kind": kind, "columns": columns, "reported_at": "when_us"}
    if may_be:
        assert not replace(PAID, **changes).source.by_name["when_us"].nullable
    else:
        with pytest.raises(DefinitionError, match=f"'when_us' may be null in a joined record of kind {kind}"):
            replace(PAID, **changes)


def test_columns_of_a_side_that_may_be_missing_are_nullable() -> None:
    nullable = {kind: {c.name for c in replace(PAID, kind=kind).source.columns if c.nullable} for kind in JoinKind}
    assert nullable[JoinKind.INNER] == {"place"}
    assert nullable[JoinKind.LEFT] == {"place", "cents", "right_origin"}
    assert nullable[JoinKind.OUTER] == {"place", "cents", "left_origin", "right_origin"}


def test_kind_and_selection_are_part_of_the_version_only_where_they_are_given() -> None:
    assert SIGNED.version == "a73975b2"
    versions = {join.version for join in (PAID, replace(PAID, kind=JoinKind.LEFT), replace(PAID, left=ALL_ENDS))}
    assert len(versions) == 3


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"grace_seconds": 0}, "grace_seconds must be 1 at least"),
        ({"longer_than_seconds": -1}, "longer_than_seconds may not be negative"),
        ({"ends": Half(BILLED, BILLS, "call_id", "billed_at_us")}, "an alert watches one topic"),
        ({"ends": STARTS}, "starts and ends both select 'what' = 'START'"),
        ({"columns": ("hue",)}, "no column 'hue' in source 'calls'"),
        ({"columns": ("call_id",)}, "column 'call_id' would stand twice in the alert"),
        ({"number": 1 << 16}, "number 65536 is not in 1..65535"),
    ],
)
def test_an_alert_that_cannot_be_is_refused_in_words(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        replace(LONG, **changes)
    assert problem in str(refused.value)


def test_tasks_whose_joins_and_alerts_do_not_fit_together_are_refused() -> None:
    clash: Join = replace(WHOLE, name=LONG.name, output=LONG.output)
    with pytest.raises(DefinitionError) as refused:
        TaskDefinition("app", (BILLED,), (), (clash,), schema_ids={}, alerts=(LONG,))
    assert {
        "'long_calls' is a join and an alert",
        "join 'long_calls' reads source 'calls', which is not of these tasks",
        "alert 'long_calls' reads source 'calls', which is not of these tasks",
        "no schema id of 'calls.long', which is written here",
        "topic 'calls.long' is written by two",
    } <= set(refused.value.problems)
    assert TaskDefinition("app", (CALLS,), (), (WHOLE,), schema_ids=SCHEMA_IDS, alerts=(LONG,)).pairing
