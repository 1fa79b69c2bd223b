"""Rows as lines of JSON, whose end is told, and as comma-separated values, whose position is in headers."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pytest

from app.domain.rows import RowKey
from app.domain.windows.instants import to_iso
from app.edge.formats.csv_rows import encode as encode_csv
from app.edge.formats.format import Told
from app.rides.views import ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, Client, Serve, server_of, zone_table
from tests.support.material.stored.tables import cells_of, ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"
LINES, VALUES = MappingProxyType({"format": "ndjson"}), MappingProxyType({"format": "csv"})


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, (ZONE_DEMAND, BY_BASE)) as start:
        yield start


@pytest.fixture
async def client(serve: Serve) -> Client:
    base = {RowKey(NOON_US, ("=1+1", 132)): cells_of(BY_BASE, 3)}
    return await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132), (1, 7)), BY_BASE: base})]))


async def test_lines_are_the_rows_of_the_document_and_the_last_one_proves_them(client: Client) -> None:
    told = await (await client.get(ROWS)).json()
    answer = await client.get(ROWS, params=LINES)
    *rows, end = (await answer.read()).splitlines(keepends=True)
    assert answer.content_type == "application/x-ndjson"
    assert list(map(json.loads, rows)) == told["data"]
    proof = {"rows": 2, "sha256": hashlib.sha256(b"".join(rows)).hexdigest(), "meta": told["meta"]}
    assert json.loads(end) == proof


async def test_no_rows_are_one_line(client: Client) -> None:
    (end,) = (await (await client.get(ROWS, params={**LINES, "zone": "1"})).text()).splitlines()
    assert json.loads(end)["rows"] == 0


async def test_comma_separated_values_are_the_rows_and_are_no_formulas(client: Client) -> None:
    told = await (await client.get("/v1/views/by_base/rows")).json()
    answer = await client.get("/v1/views/by_base/rows", params=VALUES)
    (line,) = csv.DictReader((await answer.text()).splitlines())
    (row,) = told["data"]
    assert answer.content_type == "text/csv"
    assert (line["window_start"], line["base"], line["zone"]) == (row["window"]["start"], "'=1+1", "132")
    assert (line["rides"], line["fingerprint"]) == (str(row["measures"]["rides"]), row["fingerprint"])
    assert (line["is_closed"], line["count"], line["source"]) == ("false", str(row["count"]), "live")


async def test_headers_tell_what_comma_separated_values_rest_on(client: Client) -> None:
    meta = (await (await client.get(ROWS, params={"limit": "1"})).json())["meta"]
    answer = await client.get(ROWS, params={**VALUES, "limit": "1"})
    told = {name: value for name, value in answer.headers.items() if name.startswith("Flagfall-")}
    assert told == {
        "Flagfall-As-Of": meta["as_of"],
        "Flagfall-Position": meta["token"],
        "Flagfall-Partial": "false",
        "Flagfall-Worker": str(client.make_url("")).rstrip("/"),
        "Flagfall-Next-Cursor": meta["next_cursor"],
    }
    assert meta["token"] == ",".join(f"{at}:{offset}" for at, offset in meta["position"].items())
    covered = {"min_position": told["Flagfall-Position"], "cursor": told["Flagfall-Next-Cursor"]}
    following = await (await client.get(ROWS, params=covered)).json()
    assert [row["group"]["zone"] for row in following["data"]] == [7]


async def test_a_position_that_moves_on_makes_another_answer_of_the_same_values(serve: Serve) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=10)])
    client = await serve(directory)
    before = await client.get(ROWS, params=VALUES)
    directory.tasks[0] = task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=11)
    after = await client.get(ROWS, params=VALUES, headers={"If-None-Match": before.headers["ETag"]})
    assert (after.status, await after.read()) == (200, await before.read())
    again = await client.get(ROWS, params=VALUES, headers={"If-None-Match": after.headers["ETag"]})
    assert (again.status, again.headers["Flagfall-Position"]) == (304, after.headers["Flagfall-Position"])


async def test_a_position_that_no_header_holds_is_refused_where_it_would_stand_in_one(serve: Serve) -> None:
    task = task_of(0, {ZONE_DEMAND: zone_table((0, 132))})
    client = await serve(ready_directory([task_of(p, {ZONE_DEMAND: {}}) for p in range(400)] + [task]))
    refused = await client.get(ROWS, params=VALUES)
    document = await refused.json()
    assert (refused.status, document["type"]) == (406, "urn:flagfall:problem:not-acceptable")
    assert "too long for a header: ask for JSON" in document["detail"]
    assert (await client.get(ROWS)).status == 200


async def test_every_format_names_the_next_page_in_a_header_and_its_position_in_meta(client: Client) -> None:
    for written in ("json", "ndjson", "csv", "arrow", "parquet"):
        answer = await client.get(ROWS, params={"format": written, "limit": "1"})
        following = await client.get(ROWS, params={"cursor": answer.headers["Flagfall-Next-Cursor"]})
        told = await following.json()
        assert [row["group"]["zone"] for row in told["data"]] == [7]
        assert (await client.get(ROWS, params={"min_position": told["meta"]["token"]})).status == 200
        assert "Flagfall-Next-Cursor" not in following.headers


def test_values_are_text_of_their_own_and_a_list_is_one_value() -> None:
    columns = {
        "window_start": pa.array([NOON_US], pa.int64()).cast(pa.timestamp("us", "UTC")),
        "is_closed": [True],
        "base": ["=1+1"],
        "empty": [""],
        "quoted": ['a,"b"\n'],
        "none": pa.array([None], pa.int64()),
        "rides": [-3],
        "share": [0.5],
        "histogram": [[1, 2]],
        "fingerprint": pa.array([255], pa.uint64()),
    }
    assert encode_csv(Told([], {}, lambda: pa.table(columns))).decode() == (
        "window_start,is_closed,base,empty,quoted,none,rides,share,histogram,fingerprint\n"
        f'{to_iso(NOON_US)},true,\'=1+1,"","a,""b""\n",,-3,0.5,1 2,00000000000000ff\n'
    )


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@A1", "\t=1", "\n=1", "\uff1d1", "'=1", "''=1"])
def test_a_text_that_a_spreadsheet_would_run_has_one_apostrophe_more(text: str) -> None:
    _, line = csv.reader(io.StringIO(encode_csv(Told([], {}, lambda: pa.table({"base": [text]}))).decode(), newline=""))
    assert line == [f"'{text}"]


@pytest.mark.parametrize("text", ["O'Hare", "'", "''x", "1=1"])
def test_a_text_that_none_would_run_is_told_as_it_is(text: str) -> None:
    assert encode_csv(Told([], {}, lambda: pa.table({"base": [text]}))).decode() == f"base\n{text}\n"


@pytest.mark.parametrize("parameters", [{}, {"top": "3", "by": "rides"}, {"window": "1h"}])
async def test_lines_of_no_rows_have_the_names_that_those_of_some_have(
    client: Client, parameters: dict[str, str]
) -> None:
    some = await (await client.get(ROWS, params={"format": "csv", **parameters})).text()
    none = await (await client.get(ROWS, params={"format": "csv", "zone": "99", **parameters})).text()
    assert len(some.splitlines()) > 1
    assert none == f"{some.splitlines()[0]}\n"
