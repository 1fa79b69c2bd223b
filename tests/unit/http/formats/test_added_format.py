"""Formats of rows: one table, which requests, refusals, the API document and the command line follow."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from multidict import MultiDict
from openapi_spec_validator import validate

from app.edge.formats import table
from app.edge.formats.format import Document, Format, Told
from app.edge.http.query.read_query import read_query
from app.rides.views import ZONE_DEMAND
from tests.support.http import Client, Serve, server_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"


def lines_of(told: Told) -> bytes:
    return b"\n".join(map(orjson.dumps, [*told.rows, {"meta": told.meta}]))


def a_line_each(row: Document, meta: Document) -> Document:
    return {"type": "string"}


LINES = Format("lines", "application/x-lines", "a line each", lines_of, a_line_each)
"""A format that somebody adds tomorrow."""

JSON = next(one for one in table.FORMATS if one.name == "json")
"""What was there before: others may have come since, and change nothing here."""


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    monkeypatch.setattr(table, "FORMATS", (JSON, LINES))
    serve: Serve
    async with server_of(tmp_path, (ZONE_DEMAND,)) as serve:
        yield await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132), (1, 7))})]))


async def test_a_format_that_was_added_to_the_table_is_served_by_name_and_by_accept(client: Client) -> None:
    whole = await (await client.get(ROWS)).json()
    for asked in ({"params": {"format": "lines"}}, {"headers": {"Accept": "application/x-lines"}}):
        answer = await client.get(ROWS, **asked)  # type: ignore[arg-type]
        assert (answer.status, answer.content_type) == (200, "application/x-lines")
        *rows, meta = map(json.loads, (await answer.text()).splitlines())
        assert (rows, meta["meta"]) == (whole["data"], whole["meta"])


async def test_a_page_of_an_added_format_names_the_next_one(client: Client) -> None:
    told = (await (await client.get(ROWS, params={"format": "lines", "limit": "1"})).text()).splitlines()
    cursor = json.loads(told[-1])["meta"]["next_cursor"]
    following = await (await client.get(ROWS, params={"limit": "1", "cursor": cursor})).json()
    assert [json.loads(told[0])["group"]["zone"], following["data"][0]["group"]["zone"]] == [132, 7]


async def test_the_api_document_lists_an_added_format(client: Client) -> None:
    document = await (await client.get("/openapi.json")).json()
    validate(document)
    rows = document["paths"][ROWS]["get"]
    assert list(rows["responses"]["200"]["content"]) == ["application/json", "application/x-lines"]
    (chosen,) = [parameter for parameter in rows["parameters"] if parameter["name"] == "format"]
    assert chosen["schema"]["enum"] == ["json", "lines"]
    assert "406" in rows["responses"]


async def test_a_refusal_names_the_formats_that_there_are(client: Client) -> None:
    unknown = await client.get(ROWS, params={"format": "xml"})
    assert (unknown.status, (await unknown.json())["allowed"]) == (400, "one of json, lines")
    unacceptable = await client.get(ROWS, headers={"Accept": "text/xml, image/*"})
    document = await unacceptable.json()
    assert (unacceptable.status, document["type"]) == (406, "urn:flagfall:problem:not-acceptable")
    assert "application/json (format=json), application/x-lines (format=lines)" in document["detail"]


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("*/*", "application/json"),
        ("", "application/json"),
        ("application/*", "application/json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("application/x-lines, application/json;q=0.5", "application/x-lines"),
        ("application/json;q=0, */*", "application/x-lines"),
        ("APPLICATION/X-LINES;v=1; Q=0.9, application/json;q=0.1", "application/x-lines"),
        ("application/x-lines;q=a lot, application/json;q=0.9", "application/x-lines"),
    ],
)
async def test_accept_is_given_the_format_that_it_likes_best(client: Client, accept: str, media_type: str) -> None:
    assert (await client.get(ROWS, headers={"Accept": accept})).content_type == media_type


async def test_the_parameter_counts_more_than_the_header(client: Client) -> None:
    answer = await client.get(ROWS, params={"format": "json"}, headers={"Accept": "application/x-lines"})
    assert answer.content_type == "application/json"


async def test_workers_ask_each_other_in_their_own_form_only(client: Client) -> None:
    answer = await client.get("/v1/internal/views/zone_demand/parts", params={"partition": "0", "format": "lines"})
    assert (answer.status, (await answer.json())["parameter"]) == (400, "format")
    assert "format" not in dict(read_query(ZONE_DEMAND, MultiDict()).parameters())
