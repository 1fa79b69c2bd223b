"""Which row's records are asked for: every mistake is named, and a cursor goes on with its own row alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock

import pytest
from multidict import MultiDict
from pydantic import SecretStr
from yarl import URL

from app.base.access_settings import AccessSettings
from app.domain.fingerprint import Origin, mix, pack, signed
from app.domain.records import TopicPartition
from app.domain.rows import RowKey
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.edge.http.brokers import Brokers
from app.edge.http.context import Edge
from app.edge.http.documents.evidence_schema import EVIDENCE
from app.edge.http.evidence.asked_row import asked_row, evidence_address
from app.edge.http.evidence.looking import Looking
from app.edge.http.evidence.search_cursors import SearchCursor, decode, encode
from app.edge.http.evidence.verdict import lacks, verdict
from app.edge.http.problems import Problem
from app.edge.http.query.read_query import read_query
from app.edge.http.query.seal import Seal
from app.edge.http.results import result_cursors
from app.engine.core.searching import SearchSpan
from app.engine.core.views.belonging import RowAsked
from app.engine.drive.kafka.row_search import RowSearch, Rulings
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, one_task, server_of
from tests.support.material.views import DAYS, HOPPING, SHIFTS

NOON = to_iso(NOON_US)
SEAL = Seal(SecretStr("workers.s3cret"))
HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("view", "told", "row"),
    [
        (ZONE_DEMAND, {"zone": "132", "from": NOON}, RowAsked(NOON_US, NOON_US + PANE_US, (132,))),
        (ZONE_DEMAND, {"zone": "null", "from": NOON}, RowAsked(NOON_US, NOON_US + PANE_US, (None,))),
        (
            ZONE_DEMAND,
            {"zone": "132", "from": NOON, "to": to_iso(NOON_US + HOUR_US), "limit": "5"},
            RowAsked(NOON_US, NOON_US + HOUR_US, (132,)),
        ),
        (BY_BASE, {"zone": "1", "base": "B0", "from": NOON}, RowAsked(NOON_US, NOON_US + PANE_US, ("B0", 1))),
        (VENDOR_TRIPS, {"vendor": "null"}, RowAsked(None, None, (None,))),
        (HOPPING, {"zone": "1", "vendor": "2", "from": NOON}, RowAsked(NOON_US, NOON_US + HOUR_US, (1, "2"))),
        (SHIFTS, {"vendor": "1", "from": NOON}, RowAsked(NOON_US, None, ("1",))),
    ],
)
def test_a_row_is_named_by_its_groups_and_its_window(view: View, told: dict[str, str], row: RowAsked) -> None:
    asked, query = asked_row(view, MultiDict(told))
    assert asked == row
    assert query.from_us == row.start_us
    assert "limit" not in dict(query.parameters())  # other workers are asked for all that they have of it
    assert query.groups == {g.name: (value,) for g, value in zip(view.groups, row.group, strict=True)}


@pytest.mark.parametrize(("zone", "base"), [(1, "B0"), (None, None), (265, "a&b=c/é")])
def test_the_address_that_a_row_gives_names_that_row(zone: int | None, base: str | None) -> None:
    row = {"window": {"start": NOON, "end": to_iso(NOON_US + PANE_US)}, "group": {"zone": zone, "base": base}}
    asked, _ = asked_row(BY_BASE, MultiDict(URL(evidence_address(BY_BASE, row)).query))
    assert asked == RowAsked(NOON_US, NOON_US + PANE_US, (base, zone))


@pytest.mark.parametrize(
    ("view", "told", "words"),
    [
        (ZONE_DEMAND, {"from": NOON}, "zone=: one value, as the row has it"),
        (ZONE_DEMAND, {"zone": "132"}, "from=: the start of the row's window"),
        (ZONE_DEMAND, {"zone": "132", "from": to_iso(NOON_US + 1)}, "no window of the view begins there"),
        (ZONE_DEMAND, {"zone": "132", "from": NOON, "to": NOON}, "no window behind from ends there"),
        (ZONE_DEMAND, {"zone": "132", "from": NOON, "top": "3"}, "top=3: unknown; there are zone, from, to, limit"),
        (ZONE_DEMAND, {"zone": "x", "from": NOON}, "zone=x: a whole number"),
        (DAYS, {"zone": "1", "vendor": "2", "from": "2024-01-31T05:00:00Z", "to": NOON}, "to=2024.*or nothing"),
        (SHIFTS, {"vendor": "1", "from": NOON, "to": NOON}, "not with sessions"),
        (VENDOR_TRIPS, {"vendor": "2", "from": NOON}, "from=.*unknown; there are vendor, limit, cursor"),
    ],
)
def test_what_names_no_row_is_refused_in_words(view: View, told: dict[str, str], words: str) -> None:
    with pytest.raises(Problem, match=words) as refused:
        asked_row(view, MultiDict(told))
    assert refused.value.slug == "bad-parameter"


def cursor_of(**told: Any) -> SearchCursor:
    fresh = SearchCursor(
        view=ZONE_DEMAND.name,
        version=ZONE_DEMAND.version,
        start_us=NOON_US,
        end_us=NOON_US + PANE_US,
        group=(132,),
        row=ZONE_DEMAND.neutral,
        position=(7,),
        wanted={0: 3},
        found=ZONE_DEMAND.neutral,
        at=SearchSpan("rides.yellow", 0, 2, 7, NOON_US),
    )
    return fresh.model_copy(update=told)


def test_a_cursor_goes_on_with_the_search_that_it_was_made_of() -> None:
    cursor = cursor_of()
    asked, text = RowAsked(NOON_US, NOON_US + PANE_US, (132,)), encode(SEAL, cursor)
    assert decode(SEAL, ZONE_DEMAND, asked, text, to_the_end=False) == cursor
    with pytest.raises(Problem, match="to_the_end is not what it was"):
        decode(SEAL, ZONE_DEMAND, asked, text, to_the_end=True)
    spans = [SearchSpan("rides.green", 0, 0, 9), SearchSpan("rides.yellow", 0, 0, 7), SearchSpan("rides.fhv", 0, 0, 1)]
    assert cursor.search_in(spans).spans == (SearchSpan("rides.yellow", 0, 2, 7, NOON_US), spans[2])
    with pytest.raises(Problem, match="start again without a cursor"):
        cursor.search_in(spans[:1])


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "e30",
        encode(SEAL, cursor_of(version="00000000")),
        encode(SEAL, cursor_of(group=(1,))),
        encode(SEAL, cursor_of(start_us=NOON_US + PANE_US)),
        encode(SEAL, cursor_of(end_us=None)),
        encode(SEAL, cursor_of(row=(1, 2))),
        encode(SEAL, cursor_of(at=None)),
        encode(SEAL, cursor_of(at=("rides.yellow", 5, 2, 7, 0, False))),
        encode(SEAL, cursor_of(wanted={0: 1 << 70})),
        encode(SEAL, cursor_of(wanted={0: -1})),
        encode(SEAL, cursor_of(layout=2)),
    ],
)
def test_a_cursor_of_something_else_is_refused(cursor: str) -> None:
    with pytest.raises(Problem) as refused:
        decode(SEAL, ZONE_DEMAND, RowAsked(NOON_US, NOON_US + PANE_US, (132,)), cursor, to_the_end=False)
    assert refused.value.slug == "bad-cursor"


def test_a_cursor_of_other_answers_is_told_as_that() -> None:
    of_rows = read_query(ZONE_DEMAND, MultiDict(limit="1")).cursor_after(RowKey(NOON_US, (132,)))
    of_results = result_cursors.encode(SEAL, "windows.zone_demand", {0: 3})
    for cursor in (SEAL.sealed(of_rows.encode()), of_results):
        with pytest.raises(Problem, match="This is no cursor of evidence; take"):
            decode(SEAL, ZONE_DEMAND, RowAsked(NOON_US, NOON_US + PANE_US, (132,)), cursor, to_the_end=False)
    inside = SEAL.opened(encode(SEAL, cursor_of())).decode(errors="replace")
    with pytest.raises(Problem, match="This is no cursor of rows; take"):
        read_query(ZONE_DEMAND, MultiDict(cursor=inside))


@pytest.mark.parametrize("secret", ["", "workers.another"])
async def test_a_cursor_that_no_worker_gave_is_refused_whatever_it_says(tmp_path: Path, secret: str) -> None:
    access = AccessSettings(token=SecretStr("workers.s3cret"))
    of_another_row, made_up = cursor_of(group=(1,)), Seal(SecretStr(secret))
    async with server_of(tmp_path, access=access) as serve:
        client = await serve(one_task())
        for seal, why in ((made_up, "No worker with this one's token"), (SEAL, "made for another row")):
            asked = {"zone": "132", "from": NOON, "cursor": encode(seal, of_another_row)}
            answer = await client.get("/v1/views/zone_demand/evidence", params=asked)
            told = await answer.json()
            assert (answer.status, told["type"]) == (400, "urn:flagfall:problem:bad-cursor")
            assert why in told["detail"]


@pytest.mark.parametrize(("begins", "lacked"), [(0, 1), (0, 2), (50, 1)])
async def test_what_a_row_lacks_is_told_unless_its_log_has_lost_what_may_be_why(begins: int, lacked: int) -> None:
    places = [Origin(RIDES.topic("rides.yellow").number, 0, offset) for offset in (17, 23, 99)]
    mixed = [mix(pack(place)) for place in places]
    found = (len(mixed), signed(sum(mixed)), *ZONE_DEMAND.neutral[2:])
    row = (len(mixed) - lacked, signed(sum(mixed[lacked:])), *ZONE_DEMAND.neutral[2:])
    cursor = cursor_of(row=row, found=found, wanted={0: 0, 1: 0}, at=None, to_the_end=True)
    searcher = SimpleNamespace(
        lost=AsyncMock(return_value={TopicPartition("rides.yellow", 0): begins} if begins else {})
    )
    looking = SimpleNamespace(added_spans=AsyncMock(return_value=[]))
    told = await verdict(
        cast(RowSearch, searcher), Brokers(5), cast(Looking, looking), ZONE_DEMAND, cursor, Rulings({}, {})
    )
    assert told.agrees is (None if begins else False)
    one = {"topic": "rides.yellow", "partition": 0, "offset": 17}
    assert lacks(ZONE_DEMAND, cursor) == {"count": lacked, "record": one if lacked == 1 else None}
    assert (cursor.is_exhausted, cursor.is_short) == (True, False)


@pytest.mark.parametrize("begins", [None, 50])
async def test_a_search_that_has_looked_at_all_does_not_call_a_row_whole_whose_records_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: int | None
) -> None:
    """It said `complete`, which scripts took for all of the row's records."""
    lost = {} if begins is None else {TopicPartition("rides.yellow", 0): begins}
    searcher = SimpleNamespace(
        rulings=AsyncMock(return_value=Rulings({}, {})),
        spans=AsyncMock(return_value=[]),
        corrections=AsyncMock(return_value=[]),
        lost=AsyncMock(return_value=lost),
    )
    monkeypatch.setattr(Edge, "searcher", lambda *_: searcher)
    async with server_of(tmp_path) as serve:
        answer = await (await serve(one_task())).get(
            "/v1/views/zone_demand/evidence", params={"zone": "132", "from": NOON}
        )
        meta = (await answer.json())["meta"]
    logs_begin = {} if begins is None else {"rides.yellow-0": begins}
    assert meta["missing"] == {"count": meta["row"]["count"], "record": None, "logs_begin": logs_begin}
    assert (meta["searched_to_the_end"], meta["agrees"]) == (True, False if begins is None else None)
    assert "complete" not in meta
    assert meta.keys() == EVIDENCE["properties"]["meta"]["properties"].keys()
