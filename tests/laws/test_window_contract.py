"""What every kind of window keeps to, so that whoever uses windows need not know which kind it is."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.measures.parts import Op, Take
from app.domain.windows.all_time import AllTime
from app.domain.windows.boundaries import Unit
from app.domain.windows.calendar import Calendar
from app.domain.windows.contract import Window
from app.domain.windows.hopping import Hopping
from app.domain.windows.kinds import KINDS
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.rides.ride import RIDES
from tests.support.material.views import SHIFTED

AT = "pickup_at_us"
SECONDS = st.integers(1, 100_000)
DRAWN: dict[type[Window], st.SearchStrategy[Window]] = {
    Tumbling: st.tuples(SECONDS, SECONDS).map(lambda n: Tumbling(AT, n[0], n[1] % n[0])),
    Hopping: st.tuples(SECONDS, st.integers(1, 10_000), SECONDS).map(
        lambda n: Hopping(AT, n[0] * n[1], n[0], n[2] % n[0])
    )
    | st.tuples(SECONDS, SECONDS).map(lambda n: Hopping(AT, sum(n), max(n))),
    Calendar: st.tuples(st.sampled_from(Unit), st.sampled_from(["America/New_York", "Asia/Kolkata"])).map(
        lambda n: Calendar(AT, *n)
    ),
    Session: SECONDS.map(lambda gap: Session(AT, gap)),
    AllTime: st.just(AllTime()),
}
WINDOWS = st.one_of(*DRAWN.values()).map(lambda window: window.over(RIDES))
ENDING = WINDOWS.filter(lambda window: window.ends)
STARTING = ENDING.filter(lambda window: not window.merges)
"""Those of which a start tells the end."""
INSTANTS_US = st.integers(946_684_800_000_000, 4_102_444_799_999_999)
"""2000 to 2099, the bounds of a ride's instants."""


def test_every_kind_is_drawn_here() -> None:
    assert set(DRAWN) == set(KINDS.values())


@given(window=ENDING, instant_us=INSTANTS_US)
def test_what_is_stored_holds_the_instant_and_begins_where_it_says(window: Window, instant_us: int) -> None:
    start_us = window.start(instant_us)
    assert start_us <= instant_us < window.end(start_us, instant_us)
    assert window.start(start_us) == start_us
    assert window.is_start(start_us)
    assert window.is_start(instant_us) == (start_us == instant_us)


@given(window=ENDING, instants_us=st.tuples(INSTANTS_US, INSTANTS_US).map(sorted))
def test_later_instants_begin_and_end_no_earlier(window: Window, instants_us: list[int]) -> None:
    (one, other), (begun, later) = instants_us, map(window.start, instants_us)
    assert begun <= later
    assert window.end(begun, one) <= window.end(later, other)
    assert window.last_end(one) <= window.last_end(other)


@given(window=ENDING, instant_us=INSTANTS_US, ahead_us=st.integers(0, 10**11))
def test_as_many_windows_have_ended_by_the_last_end_as_by_the_instant(
    window: Window, instant_us: int, ahead_us: int
) -> None:
    to_us = instant_us + ahead_us
    last_us = window.last_end(to_us)
    assert last_us <= to_us
    assert window.last_end(last_us) == last_us
    if not window.merges:
        end_us = window.end(window.start(instant_us))
        assert (end_us <= last_us) == (end_us <= to_us)


@given(window=STARTING, instant_us=INSTANTS_US, ahead_us=st.integers(0, 10**11))
def test_a_start_tells_whether_it_has_ended(window: Window, instant_us: int, ahead_us: int) -> None:
    start_us, to_us = window.start(instant_us), instant_us + ahead_us
    assert (start_us < window.ended_below(to_us)) == (window.end(start_us) <= to_us)


@given(window=ENDING, instant_us=INSTANTS_US)
def test_a_record_waits_no_longer_than_its_window_may_last(window: Window, instant_us: int) -> None:
    last_us = window.end(window.start(instant_us), instant_us)
    assert last_us <= window.last_end(instant_us + window.span_us(instant_us))


@given(window=ENDING, instant_us=INSTANTS_US, length_us=st.integers(0, 10**12), most=st.integers(0, 50))
def test_starts_that_are_told_are_all_there_are(window: Window, instant_us: int, length_us: int, most: int) -> None:
    starts = window.starts(instant_us, instant_us + length_us, most)
    if starts is None:
        return
    assert len(starts) <= most
    inside = {window.start(instant_us), window.start(instant_us + length_us - 1)} if length_us else set()
    assert {start_us for start_us in inside if start_us >= instant_us} <= set(starts)
    assert all(window.is_start(start_us) and instant_us <= start_us < instant_us + length_us for start_us in starts)
    assert all(window.end(one) == other for one, other in pairwise(starts) if window.overlap is None)


@given(window=ENDING, instants_us=st.tuples(INSTANTS_US, INSTANTS_US).map(sorted))
def test_a_final_s_end_is_that_of_its_row_where_windows_do_not_overlap(window: Window, instants_us: list[int]) -> None:
    if window.overlap is None:
        start_us, last_us = window.start(instants_us[0]), instants_us[1]
        assert window.window_end(start_us, last_us) == window.end(start_us, last_us)


@given(window=ENDING, instant_us=INSTANTS_US)
def test_windows_that_overlap_hold_all_of_what_they_share(window: Window, instant_us: int) -> None:
    if window.overlap is None:
        return
    pane_us = window.start(instant_us)
    starts = window.overlap.windows_of(pane_us, window.overlap.first_ending_after(pane_us))
    assert all(start_us <= instant_us < window.window_end(start_us) for start_us in starts)
    assert window.window_end(starts[-1]) == window.end(pane_us)


@given(window=WINDOWS)
def test_a_window_is_said_in_full_and_made_again_of_what_it_says(window: Window) -> None:
    assert type(window)(**window.fields()) == window
    assert window.describe()
    assert window.document().get("column") == window.column
    assert not list(window.problems(RIDES))


@given(window=WINDOWS)
def test_what_does_not_hold_is_refused_and_never_guessed(window: Window) -> None:
    if not window.ends:
        for ask in (window.start, window.end, window.last_end, window.window_end):
            with pytest.raises(ValueError, match="all time"):
                ask(0)
    if not window.ends or window.merges:
        with pytest.raises(ValueError):
            window.ended_below(0)


@given(window=WINDOWS)
def test_a_row_that_merges_says_when_its_last_record_was(window: Window) -> None:
    last = [part for part in window.parts if window.last_cell in part.cells]
    assert [(part.op, part.take, part.column) for part in last] == window.merges * [(Op.MAX, Take.VALUE, window.column)]
    view = replace(SHIFTED, window=window)
    if window.merges:
        assert view.cells[view.last_at] == window.last_cell
    else:
        with pytest.raises(ValueError, match="rows of shifted do not merge"):
            assert view.last_at


@given(window=WINDOWS)
def test_a_view_of_any_kind_has_rows_as_wide_as_its_names(window: Window) -> None:
    view = replace(SHIFTED, window=window)
    assert len(view.cells) == len(view.neutral)
    assert {part.name for part in window.parts} <= set(view.cells)
    assert len(view.texts) == len(view.groups) + (window.overlap is not None)
