"""Rows in every format, as analysts' tables and `flagfall query` take them from a worker."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import click
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from app.domain.rows import RowKey
from app.edge.cli.tables import query
from app.edge.cli.tables.query import command
from app.edge.formats import table
from app.rides.views import ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, Serve, told_to, url_of, zone_table
from tests.support.material.stored.tables import cells_of, ready_directory, task_of


async def worker(serve: Serve) -> str:
    """Of four rows in the last hour, and one of a base that no terminal should see as it is."""
    bases = {RowKey(NOON_US, ("\x1b[2J", 132)): cells_of(BY_BASE, 3)}
    tables: Mapping = {ZONE_DEMAND: zone_table((0, 4), (1, 4), (1, 132), (2, 7)), BY_BASE: bases}
    return url_of(await serve(ready_directory([task_of(0, tables, watermark_us=NOON_US + 3 * PANE_US)])))


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, command, list(arguments))


async def test_the_lines_for_analysts_give_each_the_table_that_it_knows(serve: Serve) -> None:
    url = await worker(serve)
    arrow, values, pandas, duckdb = await asyncio.to_thread(told_to, "/rows", url)
    assert list(arrow["zone"]) == list(values["zone"]) == list(pandas["zone"]) == [4, 7, 132]
    rides = {arrow["rides"].sum(), values["rides"].sum(), pandas["rides"].sum(), duckdb.sum("rides").fetchall()[0][0]}
    assert len(rides) == 1


async def test_the_command_writes_what_the_worker_wrote(serve: Serve, tmp_path: Path) -> None:
    url = await worker(serve)
    parquet = await run("zone_demand", "--parquet", "--worker", url)
    assert pl.read_parquet(io.BytesIO(parquet.stdout_bytes))["zone"].to_list() == [4, 4, 132, 7]
    arrow = await run("zone_demand", "--arrow", "--limit", "100000", "--worker", url)
    assert len(pl.read_ipc_stream(io.BytesIO(arrow.stdout_bytes))) == 4
    *_, end = (await run("zone_demand", "--ndjson", "--worker", url)).stdout.splitlines()
    assert json.loads(end)["rows"] == 4


async def test_values_without_a_place_for_the_next_page_name_it_beside_them(serve: Serve) -> None:
    url = await worker(serve)
    first = await run("zone_demand", "--csv", "--limit", "2", "--worker", url)
    cursor = first.stderr.removeprefix("There are more: --cursor ").strip()
    rest = await run("zone_demand", "--csv", "--cursor", cursor, "--worker", url)
    zones = [pl.read_csv(page.stdout_bytes)["zone"].to_list() for page in (first, rest)]
    assert (zones, rest.stderr) == ([[4, 4], [132, 7]], "")


@pytest.mark.parametrize("written", ["json", "ndjson", "csv", "arrow", "parquet"])
async def test_more_rows_than_a_page_holds_are_asked_for_page_by_page(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    url = await worker(serve)
    asked = ("zone_demand", f"--{written}", "--worker", url)
    whole = await run(*asked)
    short = tuple(one._replace(most_rows=1) for one in table.FORMATS)
    for module in (table, query):
        monkeypatch.setattr(module, "FORMATS", short)
    paged = await run(*asked, "--limit", "9")
    assert (paged.exit_code, paged.stderr) == (0, "")
    match written:
        case "arrow":
            assert read_arrow(paged).equals(read_arrow(whole))
        case "parquet":
            assert read_parquet(paged).equals(read_parquet(whole))
        case _:
            assert paged.stdout_bytes == whole.stdout_bytes
    assert len(whole.stdout_bytes) > 0


async def test_of_pages_the_last_one_says_whether_there_are_more(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    url = await worker(serve)
    short = tuple(one._replace(most_rows=2) for one in table.FORMATS)
    for module in (table, query):
        monkeypatch.setattr(module, "FORMATS", short)
    first = await run("zone_demand", "--csv", "--limit", "3", "--worker", url)
    cursor = first.stderr.removeprefix("There are more: --cursor ").strip()
    *lines, end = (await run("zone_demand", "--ndjson", "--limit", "3", "--worker", url)).stdout.splitlines()
    assert (len(first.stdout.splitlines()), len(lines), json.loads(end)["rows"]) == (1 + 3, 3, 3)
    assert json.loads(end)["meta"]["next_cursor"] == cursor
    shown = await run("zone_demand", "--limit", "3", "--worker", url)
    assert f"There are more: --cursor {cursor}" in shown.stdout.replace("\n", "")


def read_arrow(told: Result) -> pa.Table:
    return pa.ipc.open_stream(told.stdout_bytes).read_all()


def read_parquet(told: Result) -> pa.Table:
    return parquet.read_table(io.BytesIO(told.stdout_bytes))


async def test_a_terminal_is_given_no_bytes_and_no_escapes(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    url = await worker(serve)
    monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda self: self is sys.stdout)
    refused = await run("zone_demand", "--parquet", "--worker", url)
    assert (refused.exit_code, "send it to a file, as > rows.parquet" in refused.output) == (2, True)
    for written in ("--csv", "--ndjson"):
        told = (await run("by_base", written, "--worker", url)).stdout
        assert ("[2J" in told, "\x1b" in told) == (True, False)
