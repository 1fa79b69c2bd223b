"""`flagfall sql` prints what a worker answers to a statement, and says plainly why it does not."""

from __future__ import annotations

import asyncio
import csv
import io
import json

from click.testing import CliRunner, Result

from app.base.addresses import LOOPBACK
from app.domain.rows import RowKey
from app.domain.windows.instants import to_iso
from app.edge.cli.tables.sql import command
from app.rides.views import ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, Serve, told_to, url_of, zone_table
from tests.support.material.stored.tables import cells_of, ready_directory, task_of

COUNTED = "SELECT base, count(*) AS rows, [1] AS list FROM by_base GROUP BY ALL ORDER BY ALL"


async def run(*arguments: str, typed: str | None = None) -> Result:
    """The command in a thread, so that the server's loop goes on."""
    return await asyncio.to_thread(CliRunner().invoke, command, list(arguments), typed)


async def test_an_answer_is_shown_as_a_table_as_json_and_as_csv(serve: Serve) -> None:
    bases = {RowKey(NOON_US, (base, 132)): cells_of(BY_BASE, at) for at, base in enumerate((None, "=B1", "\x1b[2J"))}
    url = url_of(await serve(ready_directory([task_of(0, {BY_BASE: bases})])))
    table = await run(COUNTED, "--worker", url)
    assert table.stdout.splitlines() == ["base  rows  list", "␛[2J     1  [1]", "=B1      1  [1]", "–        1  [1]"]
    assert table.stderr == "3 rows; by_base as of 1970-01-01T00:00:00Z\n"
    answer = json.loads((await run(COUNTED, "--json", "--worker", url)).output)
    assert answer["data"] == [["\x1b[2J", 1, [1]], ["=B1", 1, [1]], [None, 1, [1]]]
    lines = list(csv.DictReader(io.StringIO((await run(COUNTED, "--csv", "--worker", url)).stdout)))
    assert [line["base"] for line in lines] == ["\x1b[2J", "'=B1", ""]


async def test_a_statement_is_read_from_standard_input_and_windows_can_be_bounded(serve: Serve) -> None:
    url = url_of(await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 4), (1, 4), (2, 4))})])))
    ends = ("--from", to_iso(NOON_US + PANE_US), "--to", to_iso(NOON_US + 2 * PANE_US))
    told = await run("--csv", *ends, "--worker", url, typed="SELECT count(*) AS panes\nFROM zone_demand;\n")
    assert told.stdout == "panes\n1\n"
    assert (await run("SELECT 1", "--worker", url)).stderr == "1 row\n"


async def test_a_refusal_is_told_in_the_words_of_the_database(serve: Serve, unused_tcp_port: int) -> None:
    url = url_of(await serve(ready_directory([task_of(0, {ZONE_DEMAND: {}})])))
    wrong = await run("SELECT rids FROM zone_demand", "--worker", url)
    assert (wrong.exit_code, 'Candidate bindings: "rides"' in str(wrong.exception)) == (1, True)
    silent = await run("SELECT 1", "--worker", f"http://127.0.0.1:{unused_tcp_port}")
    assert (silent.exit_code, "flagfall worker" in str(silent.exception)) == (1, True)
    assert (await run("SELECT 1", "--json", "--csv", "--worker", url)).exit_code == 2


async def test_who_is_hung_up_on_is_told_that_the_worker_may_speak_tls() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), LOOPBACK, 0)
    async with server:
        url = "http://{}:{}".format(*server.sockets[0].getsockname())
        refused = await run("SELECT 1", "--worker", url)
    assert f"--worker {url.replace('http:', 'https:')}" in str(refused.exception)


async def test_the_lines_for_analysts_give_each_the_table_that_it_knows(serve: Serve) -> None:
    url = url_of(await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 4), (1, 4), (0, 132))})])))
    polars, pandas, duckdb = await asyncio.to_thread(told_to, "/v1/sql", url)
    assert sorted(polars["zone"]) == sorted(pandas["zone"]) == [4, 132]
    assert polars["rides"].sum() == pandas["rides"].sum() == duckdb.sum("rides").fetchall()[0][0]


async def test_rows_beyond_those_that_are_told_are_not_left_out_in_silence(serve: Serve) -> None:
    url = url_of(await serve(ready_directory([task_of(0, {ZONE_DEMAND: {}})])))
    shown = await run("FROM range(100_001)", "--worker", url)
    assert (shown.exit_code, shown.stdout.count("\n"), "There are more rows" in shown.stderr) == (0, 100_001, True)
    lines = await run("FROM range(100_001)", "--csv", "--worker", url)
    assert (lines.exit_code, lines.stdout, "more rows than 100,000" in str(lines.exception)) == (1, "", True)


async def test_what_is_no_text_on_standard_input_is_told(serve: Serve) -> None:
    url = url_of(await serve(ready_directory([task_of(0, {ZONE_DEMAND: {}})])))
    told = await asyncio.to_thread(CliRunner().invoke, command, ["--worker", url], b"\xff\xfeSELECT 1")
    assert (told.exit_code, "standard input is no UTF-8" in told.output) == (2, True)
