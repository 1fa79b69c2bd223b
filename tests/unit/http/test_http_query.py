"""What a request may ask: every mistake is named; what is understood can be written and read again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import MultiDict

from app.domain.rows import RowKey
from app.domain.view import View
from app.domain.windows.durations import duration_us, to_duration
from app.domain.windows.instants import to_iso
from app.edge.http.problems import Problem
from app.edge.http.query.instants import to_us
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import RowsQuery
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND

MINUTE_US = 60_000_000


def read(text: str, view: View = ZONE_DEMAND, **more: str) -> RowsQuery:
    """The query of `name=value&…`, without percent-encoding, and of what is given by name."""
    pairs = [part.partition("=")[::2] for part in text.split("&") if part]
    return read_query(view, MultiDict([*pairs, *more.items()]))


def test_all_parameters_are_understood() -> None:
    query = read(
        "zone=132&zone=null&from=2024-01-01T00:00:00Z&to=2024-01-01T01:00:00+00:00&window=15m&limit=7&order=desc"
    )
    assert query.groups == {"zone": (132, None)}
    assert (query.until_us or 0) - (query.from_us or 0) == 60 * MINUTE_US
    assert (query.window_us, query.limit, query.newest_first, query.is_folded) == (
        15 * MINUTE_US,
        7,
        True,
        True,
    )


def test_without_parameters_all_panes_are_asked_for() -> None:
    assert read("") == RowsQuery(ZONE_DEMAND, window_us=5 * MINUTE_US)
    assert read("", VENDOR_TRIPS) == RowsQuery(VENDOR_TRIPS)


@pytest.mark.parametrize(
    "text",
    [
        "colour=red",
        "zone=jfk",
        "zone=0",
        "zone=266",
        "zone=",
        "zone=1.0",
        "zone=99999999999999999999",
        "zone=²",
        "from=yesterday",
        "from=2024-01-01T00:00:00",
        "from=2024-01-01",
        "to=2024-13-01T00:00:00Z",
        "to=",
        "from=0001-01-01T00:00:00+23:59x",
        "window=7m",
        "window=0m",
        "window=15",
        "window=-5m",
        "window=400d",
        "window=5M",
        "limit=0",
        "limit=10001",
        "limit=ten",
        "limit=",
        "limit=1e3",
        "order=up",
        "partial=yes",
        "from=2024-01-01T00:00:00Z&from=2024-01-01T00:00:00Z",
        "limit=1&limit=2",
        "partition=0",
    ],
)
def test_a_mistake_names_the_parameter_what_it_said_and_what_is_allowed(text: str) -> None:
    with pytest.raises(Problem) as caught:
        read(text)
    name = text.partition("=")[0]
    assert (caught.value.slug, caught.value.type.status) == ("bad-parameter", 400)
    assert caught.value.extensions["parameter"] == name
    assert caught.value.extensions["value"] == re.sub(rf"&{name}=", ", ", text.partition("=")[2])
    assert caught.value.extensions["allowed"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("from=2024-01-01T00:00:00Z", "unknown; vendor_trips takes vendor,"),
        ("window=5m", "vendor_trips has no panes of one length to fold; it takes vendor,"),
        ("zone=1", "unknown; vendor_trips takes vendor,"),
    ],
)
def test_a_view_without_windows_takes_none_of_their_parameters(text: str, why: str) -> None:
    with pytest.raises(Problem) as caught:
        read(text, VENDOR_TRIPS)
    assert caught.value.extensions["allowed"].startswith(why)


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("2026-01-05T10:00:00 01:00", True),
        ("2026-01-05T10:00 01", True),
        ("2026-01-05 10:00:00", False),
        ("yesterday at noon", False),
    ],
)
def test_who_writes_the_plus_of_a_zone_into_an_address_is_told_what_it_means_there(text: str, is_told: bool) -> None:
    with pytest.raises(Problem) as caught:
        read_query(ZONE_DEMAND, MultiDict({"from": text}))
    assert ("%2B" in caught.value.extensions["allowed"]) == is_told


@given(
    view=st.sampled_from((ZONE_DEMAND, VENDOR_TRIPS)),
    bounds=st.tuples(*[st.none() | st.integers(0, 10**15)] * 2).filter(lambda ends: None in ends or ends[0] <= ends[1]),
    panes=st.integers(1, 300),
    zones=st.lists(st.none() | st.integers(1, 265), max_size=3),
    page=st.tuples(st.integers(1, 10_000), st.booleans(), st.none() | st.integers(0, 10**15)),
)
def test_a_query_reads_back_from_its_own_parameters(
    *, view: View, bounds: tuple[int | None, ...], panes: int, zones: list[int | None], page: tuple[Any, ...]
) -> None:
    (from_us, until_us), (limit, newest, after) = bounds, page
    windowed = view is ZONE_DEMAND
    query = RowsQuery(
        view,
        from_us if windowed else None,
        until_us if windowed else None,
        panes * 5 * MINUTE_US if windowed else None,
        {"zone": tuple(zones)} if zones and windowed else {},
        limit,
        newest,
        None if after is None else RowKey(after if windowed else None, (None,)),
    )
    assert read_query(view, MultiDict(query.parameters())) == query


def test_a_cursor_is_refused_with_other_filters_and_when_it_is_none_of_ours() -> None:
    cursor = read("zone=7").cursor_after(RowKey(0, (7,)))
    assert read("zone=7&limit=3", cursor=cursor).after == RowKey(0, (7,))
    for other in ("zone=8", "", "zone=7&window=10m", "zone=7&order=desc", "zone=7&from=2024-01-01T00:00:00Z"):
        with pytest.raises(Problem) as caught:
            read(other, cursor=cursor)
        assert caught.value.slug == "bad-cursor"


@given(st.text(max_size=12))
def test_no_cursor_whatever_its_text_is_more_than_a_problem(text: str) -> None:
    with pytest.raises(Problem, match="cursor"):
        read_query(ZONE_DEMAND, MultiDict(cursor=text))


@pytest.mark.parametrize("key", [RowKey(None, (7,)), RowKey(0, ("7",)), RowKey(0, (7, 7)), RowKey(0, (True,))])
def test_a_forged_key_is_refused(key: RowKey) -> None:
    with pytest.raises(Problem, match="not one of zone_demand"):
        read("", cursor=read("").cursor_after(key))


@given(st.integers(-(10**16), 10**17))
def test_instants_read_back(instant_us: int) -> None:
    assert to_us(to_iso(instant_us)) == instant_us


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00Z\0", "2026-01-01T00:00:00Z\0later", "2026-01-01\x0000:00:00Z"])
def test_what_holds_a_nul_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError, match="no instant"):
        to_us(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_what_could_not_be_told_again_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError, match="out of range"):
        to_us(text)


@given(st.integers(1, 10**6))
def test_lengths_of_time_read_back(seconds: int) -> None:
    assert duration_us(to_duration(seconds * 1_000_000)) == seconds * 1_000_000


def test_a_table_leaves_out_what_only_programs_read() -> None:
    from app.edge.cli.tables.query import _seen

    row = {
        "window": {"start": "2026-01-05T05:00:00Z", "end": "2026-01-05T05:05:00Z"},
        "group": {"zone": 132},
        "measures": {"rides": 3, "tip_cents": 250, "tip_cents_values": 2, "duration_minutes": [0, 3]},
        "state": "open",
        "fingerprint": "00ff",
    }
    assert _seen(row, ()) == {
        "window_start": "2026-01-05T05:00:00Z",
        "zone": 132,
        "rides": 3,
        "tip_cents": 250,
        "state": "open",
    }


def test_rows_too_wide_for_the_terminal_stand_one_below_the_other() -> None:
    from io import StringIO

    from app.base.terminal import Terminal
    from app.edge.cli.tables.query import _print_blocks, _width

    lines = [{"a_long_heading": 1, "b": None}, {"a_long_heading": 22, "b": "x"}]
    assert _width(lines) == 3 + len("a_long_heading") + 3 + len("None")
    console = Terminal(file=StringIO(), width=40)
    _print_blocks(console, "title", lines)
    assert console.file.getvalue().split() == [
        "title",
        "a_long_heading",
        "1",
        "b",
        "–",
        "a_long_heading",
        "22",
        "b",
        "x",
    ]
