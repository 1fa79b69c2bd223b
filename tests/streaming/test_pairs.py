"""Joins and alerts as their users see them: exactly at the bounds, out of order, twice, and through a dead worker."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.measures.kinds import Count, Sum
from app.domain.pairs.join import JoinKind
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.tumbling import Tumbling
from app.testkit.harness import Harness, HarnessError
from tests.support.material.pairing.bills import at, bill, event
from tests.support.material.pairing.calls import BILLS, EVENTS, LONG, PAID, SECOND_US, START_US, WHOLE, of_kind


def alerts_after(*events: Any) -> list[tuple[int, int | None, int]]:
    """Beginning (in seconds), end and offset of each alert, sent one by one and all at once: the same."""
    one_by_one, at_once = Harness(alerts=[LONG]), Harness(alerts=[LONG])
    for each in events:
        one_by_one.send(EVENTS, each)
    at_once.send_all(EVENTS, events)
    assert one_by_one.alerts(LONG) == at_once.alerts(LONG)
    return [shown(told) for told in at_once.alerts(LONG)]


def shown(told: Any) -> tuple[int, int | None, int]:
    ended = None if told["ended_at_us"] is None else (told["ended_at_us"] - START_US) // SECOND_US
    return (told["began_at_us"] - START_US) // SECOND_US, ended, told["at_offset"]


def test_a_call_of_exactly_the_bound_is_not_told() -> None:
    assert alerts_after(event("START", 0), event("END", 60), event("RING", 500)) == []


def test_a_call_that_is_a_moment_longer_is_told_at_its_end() -> None:
    assert alerts_after(event("START", 0), event("END", 60.000001), event("RING", 500)) == [(0, 60, 1)]


def test_a_call_without_an_end_is_told_when_bound_and_grace_are_reached_and_not_before() -> None:
    before = [event("START", 0, place=7), event("RING", 79.999999)]
    assert alerts_after(*before) == []
    assert alerts_after(*before, event("RING", 80)) == [(0, None, 2)]


def test_an_end_that_itself_reaches_bound_and_grace_comes_too_late_to_be_named() -> None:
    assert alerts_after(event("START", 0), event("END", 80)) == [(0, None, 1)]


def test_a_late_end_of_a_short_call_keeps_the_alert_away_as_long_as_it_was_not_told() -> None:
    assert alerts_after(event("START", 0), event("RING", 79), event("END", 30, sent=79), event("RING", 500)) == []


def test_an_end_may_come_before_its_beginning() -> None:
    assert alerts_after(event("END", 70), event("START", 0, sent=70), event("RING", 500)) == [(0, 70, 1)]
    assert alerts_after(event("END", 30), event("START", 0, sent=30), event("RING", 500)) == []


def test_a_second_beginning_or_end_of_a_call_changes_nothing() -> None:
    twice = [event("START", 0), event("START", 5), event("END", 65), event("END", 200), event("RING", 500)]
    assert alerts_after(*twice) == [(0, 65, 2)]
    kit = Harness(alerts=[LONG])
    kit.send_all(EVENTS, twice[:3])
    assert kit.marker().alerts[LONG.name].fates[EVENTS].duplicate == 1


def test_several_calls_are_told_in_the_order_in_which_they_were_due() -> None:
    begun = [event("START", 3, "b"), event("START", 1, "a", sent=3), event("START", 2, "c", sent=3)]
    assert alerts_after(*begun, event("RING", 500)) == [(1, None, 3), (2, None, 3), (3, None, 3)]


def test_a_beginning_that_comes_after_bound_and_grace_is_late_and_never_told() -> None:
    kit = Harness(alerts=[LONG])
    kit.send_all(EVENTS, [event("RING", 80), event("START", 0, sent=80), event("RING", 500)])
    assert kit.alerts(LONG) == []
    assert [(late.offset, late.views) for late in kit.late] == [(1, (LONG.name,))]


def test_an_alert_carries_columns_of_the_beginning_and_is_told_once_through_a_dead_worker() -> None:
    kit = Harness(alerts=[LONG], partitions=2)
    kit.send(EVENTS, event("START", 0, place=7), partition=1)
    kit.restart(compact=True)
    kit.advance_watermark(EVENTS, at(80), partition=1)
    kit.restart(compact=True)
    kit.send(EVENTS, event("END", 90), partition=1)
    (told,) = kit.alerts(LONG)
    assert (told["call_id"], told["place"], told["at_offset"]) == ("a", 7, 1)
    assert kit.marker(1).alerts[LONG.name].told == 1


def test_a_view_stands_over_alerts_as_over_any_source() -> None:
    view = View(1, "long_by_minute", LONG.source, (), Tumbling("told_at_us", 60), (Count("calls"),), 0, 3600, "alerts")
    kit = Harness(views=[view], alerts=[LONG])
    kit.send_all(EVENTS, [event("START", second, f"c{second}") for second in (0, 1, 50)])
    kit.send(EVENTS, event("RING", 500))
    assert [row["calls"] for row in kit.rows(view)] == [2, 1]
    assert kit.late == []


@pytest.mark.parametrize("kind", JoinKind)
def test_who_is_joined_to_nothing_depends_on_the_kind_and_who_is_unmatched_does_not(kind: JoinKind) -> None:
    join = of_kind(PAID, kind)
    kit = Harness(joins=[join])
    kit.send_all(EVENTS, [event("START", 0, "met", place=1), event("START", 0, "free", place=2), event("RING", 500)])
    kit.send_all(BILLS, [bill(10, "met"), bill(10, "made up", 7), bill(500, "other")])
    joined = sorted(
        (row["call_id"], row["place"], row["cents"], row["known_at_us"] - START_US) for row in kit.joined(join)
    )
    alone = {"left": [("free", 2, None, 0)], "right": [("made up", None, 7, 10 * SECOND_US)]}
    wanted = [("met", 1, 5, 0)]
    wanted += alone["left"] if kind is not JoinKind.INNER else []
    wanted += alone["right"] if kind is JoinKind.OUTER else []
    assert joined == sorted(wanted)
    assert [(half.side, half.values["call_id"]) for half in kit.unmatched(join)] == [
        ("left", "free"),
        ("right", "made up"),
    ]


def test_halves_meet_exactly_at_the_bound_and_not_a_moment_later() -> None:
    for apart, met in ((60, 1), (60.000001, 0)):
        kit = Harness(joins=[PAID])
        kit.send(EVENTS, event("START", 0))
        kit.send(BILLS, bill(apart))
        assert len(kit.joined(PAID)) == met


def test_a_half_leaves_when_the_slower_side_reaches_bound_and_grace() -> None:
    kit = Harness(joins=[of_kind(PAID, JoinKind.LEFT)])
    kit.send(EVENTS, event("START", 0))
    kit.advance_watermark(EVENTS, at(10_000))
    kit.advance_watermark(BILLS, at(79.999999))
    assert kit.joined(of_kind(PAID, JoinKind.LEFT)) == []
    kit.restart(compact=True)
    kit.advance_watermark(BILLS, at(80))
    kit.restart(compact=True)
    (alone,) = kit.joined(of_kind(PAID, JoinKind.LEFT))
    assert (alone["call_id"], alone["cents"], alone["right_origin"]) == ("a", None, None)


def test_beginning_and_end_in_one_topic_meet_by_selection() -> None:
    kit = Harness(joins=[WHOLE])
    events = [
        event("END", 20, place=2),
        event("RING", 20),
        event("START", 5, sent=20, place=1),
        event("START", 6, sent=20),
    ]
    kit.send_all(EVENTS, events)
    (whole,) = kit.joined(WHOLE)
    assert (whole["from_place"], whole["to_place"]) == (1, 2)
    fates = kit.marker().joins[WHOLE.name].fates[EVENTS]
    assert (fates.applied, fates.out_of_scope, fates.duplicate) == (2, 1, 1)


def test_a_view_stands_over_a_joins_output_as_over_any_source() -> None:
    join = of_kind(PAID, JoinKind.OUTER)
    cents = (Count("calls"), Sum("cents", "cents"))
    view = View(1, "cents_by_place", join.source, (Group("place", "place"),), AllTime(), cents, 0, 0, "what calls cost")
    kit = Harness(views=[view], joins=[join])
    kit.send_all(EVENTS, [event("START", 0, "a", place=1), event("START", 1, "b", place=1), event("RING", 500)])
    kit.send_all(BILLS, [bill(2, "a", 30), bill(3, "b", 12), bill(4, "c", 9), bill(500, "d")])
    rows = kit.rows(view)
    assert [(row["place"], row["calls"], row["cents"]) for row in rows] == [(None, 1, 9), (1, 2, 42)]
    position = kit.marker().joins[join.name]
    assert (position.joined, position.unmatched, position.count) == (2, 1, 5)


def test_what_a_harness_does_not_have_is_told_in_words() -> None:
    with pytest.raises(HarnessError, match="long_calls is a Alert, not an alert of this harness; there: none"):
        Harness(joins=[PAID]).alerts(LONG)
    with pytest.raises(HarnessError, match="'x' is a str, not a Alert"):
        Harness(alerts=["x"])  # type: ignore[list-item]
