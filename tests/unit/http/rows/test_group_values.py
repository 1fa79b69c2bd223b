"""Values of groups as questions name them: each reads back as what it was, the text `null` and quotes too."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import MultiDict
from yarl import URL

from app.domain.measures.kinds import Count
from app.domain.rows import RowKey
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.edge.http.evidence.asked_row import evidence_address
from app.edge.http.problems import Problem
from app.edge.http.query.group_values import group_text, group_value
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import RowsQuery
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS
from tests.support.http import Client, server_of
from tests.support.material.stored.tables import cells_of, ready_directory, task_of

SHARED = View(
    number=78,
    name="by_shared",
    source=RIDES,
    groups=(Group("shared", "shared"),),
    window=AllTime(),
    measures=(Count("rides"),),
    grace_seconds=0,
    retention_seconds=0,
    help="By a flag.",
)
ODD = (None, "", "null", '"', '"null"', "a", 'a"', "é&=")
ROWS = "/v1/views/vendor_trips/rows"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    table = {RowKey(None, (vendor,)): cells_of(VENDOR_TRIPS, at) for at, vendor in enumerate(ODD)}
    flags = {RowKey(None, (flag,)): cells_of(SHARED, 3) for flag in (None, 0, 1)}
    async with server_of(tmp_path, (VENDOR_TRIPS, SHARED)) as serve:
        yield await serve(ready_directory([task_of(0, {VENDOR_TRIPS: table, SHARED: flags})]))


async def vendors(client: Client, **asked: str) -> list[Any]:
    answer = await client.get(ROWS, params=asked)
    return [row["group"]["vendor"] for row in (await answer.json())["data"]]


@given(st.one_of(st.none(), st.text(), st.sampled_from(ODD), st.text('"nul\\\\', max_size=6)))
def test_every_value_reads_back(value: str | None) -> None:
    assert group_value(VENDOR_TRIPS, VENDOR_TRIPS.groups[0], group_text(value)) == value
    query = RowsQuery(VENDOR_TRIPS, groups={"vendor": (value,)})
    assert read_query(VENDOR_TRIPS, MultiDict(query.parameters())).groups == query.groups


@pytest.mark.parametrize("vendor", ODD)
async def test_a_row_of_any_value_is_found_by_it(client: Client, vendor: str | None) -> None:
    assert await vendors(client, vendor=group_text(vendor)) == [vendor]


async def test_any_text_may_be_in_quotes_and_most_need_none(client: Client) -> None:
    assert await vendors(client, vendor=json.dumps("a")) == await vendors(client, vendor="a") == ["a"]
    assert [group_text(one) for one in ODD if group_text(one) != one] == ["null", '"null"', r'"\""', r'"\"null\""']


@pytest.mark.parametrize("text", ['"', '"a', '"a"b', r'"\ud800"'])
def test_what_begins_with_a_quote_and_is_no_text_of_json_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="begins with a quote is a text of JSON"):
        read_query(VENDOR_TRIPS, MultiDict(vendor=text))


@pytest.mark.parametrize("vendor", ODD)
async def test_the_link_to_a_rows_records_names_that_row(client: Client, vendor: str | None) -> None:
    address = evidence_address(VENDOR_TRIPS, {"window": None, "group": {"vendor": vendor}})
    assert await vendors(client, **URL(address).query) == [vendor]


@pytest.mark.parametrize(("text", "flag"), [("true", 1), ("false", 0), ("1", 1), ("0", 0), ("null", None)])
async def test_a_flag_is_asked_for_by_its_word_or_its_number(client: Client, text: str, flag: int | None) -> None:
    answer = await client.get("/v1/views/by_shared/rows", params={"shared": text})
    assert [row["group"]["shared"] for row in (await answer.json())["data"]] == [flag]


@pytest.mark.parametrize("text", ["2", "-1", "True", "yes"])
def test_what_no_flag_can_be_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="false, true, a whole number from 0 to 1, or null"):
        read_query(SHARED, MultiDict(shared=text))


async def test_in_comma_separated_values_null_is_nothing_and_the_empty_text_in_quotes(client: Client) -> None:
    lines = (await (await client.get(ROWS, params={"format": "csv"})).text()).splitlines()
    firsts = [line.split(",")[0] for line in lines]
    assert firsts == ["vendor", "", '""', '""""', '"""null"""', "a", '"a"""', "null", "é&="]
