"""Rows as columns, an Arrow stream or a Parquet file: they say what documents say."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from app.domain.rows import RowKey
from app.domain.view import View
from app.rides.questions import STREAKS
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, Client, Serve, server_of, zone_table
from tests.support.material.stored.tables import cells_of, ready_directory, task_of
from tests.support.material.views import DAYS, HOPPING, UNGROUPED

VIEWS = (ZONE_DEMAND, VENDOR_TRIPS, BY_BASE, STREAKS, HOPPING, DAYS, UNGROUPED)
GROUPS = {VENDOR_TRIPS: ("Ω",), BY_BASE: (None, 132), STREAKS: (132,), DAYS: (None, "1"), UNGROUPED: ()}
Asked = Mapping[str, str | list[str]]


def table_of(view: View) -> dict[RowKey, tuple[int, ...]]:
    """Some rows, those of one view with and without a value."""
    if view is ZONE_DEMAND:
        return zone_table((-48, 132), (0, 7), (1, 264)) | {RowKey(NOON_US, (None,)): (0,) * len(view.cells)}
    if (overlap := view.window.overlap) is not None:
        pane_us = overlap.pane_start(NOON_US)
        return {RowKey(pane_us, (overlap.first_ending_after(pane_us), 132, "1")): cells_of(view, 3)}
    return {RowKey(view.window.start(NOON_US) if view.window.ends else None, GROUPS[view]): cells_of(view, 3)}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    serve: Serve
    tables = {view: table_of(view) for view in VIEWS}
    async with server_of(tmp_path, VIEWS) as serve:
        yield await serve(ready_directory([task_of(0, tables, watermark_us=NOON_US + 4 * PANE_US)]))


async def as_table(client: Client, view: View, written: str, asked: Asked) -> pa.Table:
    answer = await client.get(f"/v1/views/{view.name}/rows", params={**asked, "format": written})
    body = await answer.read()
    assert answer.status == 200, body
    return pa.ipc.open_stream(body).read_all() if written == "arrow" else parquet.read_table(io.BytesIO(body))


def in_columns(view: View, row: dict[str, Any]) -> dict[str, Any]:
    """A row's document as one level of columns."""
    told = row.get("figures", {})
    numbers = {one.name: told[one.name] for one in view.figures if one.is_number and one.name in told}
    ends = {"from": None, "to": None}
    bins = {name: value or ends for name, value in told.items() if name not in numbers}
    window = {f"window_{end}": datetime.fromisoformat(at) for end, at in (row["window"] or {}).items()}
    return (
        ({"rank": row["rank"]} if "rank" in row else {})
        | window
        | ({"is_closed": row["state"] != "open", "is_corrected": row["state"] == "corrected"} if window else {})
        | row["group"]
        | row["measures"]
        | {"count": row["count"], "fingerprint": int(row["fingerprint"], 16)}
        | numbers
        | {f"{name}_{end}": limit for name, value in bins.items() for end, limit in value.items()}
        | {"source": row["source"]}
    )


@pytest.mark.parametrize("written", ["arrow", "parquet"])
@pytest.mark.parametrize(
    ("view", "asked"),
    [
        *((view, {}) for view in VIEWS),
        (ZONE_DEMAND, {"window": "15m"}),
        (ZONE_DEMAND, {"last": "20m", "group_by": "none"}),
        (ZONE_DEMAND, {"top": "2", "by": "rides"}),
        (ZONE_DEMAND, {"measures": ["rides", "median_duration_us", "tip_share"]}),
        (ZONE_DEMAND, {"measures": "duration_minutes"}),
        (BY_BASE, {"group_by": "base", "order": "desc"}),
    ],
    ids=lambda one: one.name if isinstance(one, View) else str(one),
)
async def test_columns_say_what_documents_say(client: Client, view: View, asked: Asked, written: str) -> None:
    told = await (await client.get(f"/v1/views/{view.name}/rows", params=asked)).json()
    table = await as_table(client, view, written, asked)
    assert told["data"]
    assert table.to_pylist() == [in_columns(view, row) for row in told["data"]]
    assert json.loads(table.schema.metadata[b"flagfall-meta"]) == told["meta"]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
async def test_text_has_the_same_columns(client: Client, view: View) -> None:
    table = await as_table(client, view, "arrow", {})
    text = await (await client.get(f"/v1/views/{view.name}/rows", params={"format": "csv"})).text()
    names, *lines = csv.reader(io.StringIO(text))
    assert names == table.column_names
    for at, name in enumerate(names):
        held = [value == "" for value in (line[at] for line in lines)]
        assert held == [value is None for value in table[name].to_pylist()], name


@pytest.mark.parametrize("written", ["arrow", "parquet"])
async def test_pages_of_one_question_have_one_schema_the_empty_one_too(client: Client, written: str) -> None:
    first = await as_table(client, ZONE_DEMAND, written, {"limit": "3"})
    cursor = json.loads(first.schema.metadata[b"flagfall-meta"])["next_cursor"]
    second = await as_table(client, ZONE_DEMAND, written, {"limit": "3", "cursor": cursor})
    none = await as_table(client, ZONE_DEMAND, written, {"zone": "1"})
    assert [len(page) for page in (first, second, none)] == [3, 1, 0]
    assert first.schema.equals(second.schema)
    assert first.schema.equals(none.schema)
    whole = await as_table(client, ZONE_DEMAND, written, {})
    assert pa.concat_tables([first, second, none]).to_pylist() == whole.to_pylist()


@pytest.mark.parametrize(("written", "most"), [("json", 10_000), ("csv", 10_000), ("arrow", 100_000)])
async def test_a_page_of_columns_may_have_more_rows_than_one_of_documents(
    client: Client, written: str, most: int
) -> None:
    rows = "/v1/views/zone_demand/rows"
    assert (await client.get(rows, params={"format": written, "limit": str(most)})).status == 200
    beyond = await client.get(rows, params={"format": written, "limit": str(most + 1)})
    assert (beyond.status, (await beyond.json())["allowed"]) == (400, f"1 to {most}")
