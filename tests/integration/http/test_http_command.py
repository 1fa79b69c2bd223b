"""`flagfall query` prints what a worker answers, and says plainly why it does not."""

from __future__ import annotations

import asyncio
import csv
import io
import json

from click.testing import CliRunner, Result

from app.domain.rows import RowKey
from app.edge.cli.tables.query import command
from app.engine.drive.standing import GroupStanding
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, Serve, url_of, zone_table
from tests.support.material.stored.tables import cells_of, ready_directory, task_of


async def run(*arguments: str) -> Result:
    """The command in a thread, so that the server's loop goes on."""
    return await asyncio.to_thread(CliRunner().invoke, command, list(arguments))


async def test_rows_are_shown_as_a_table_as_json_and_as_csv(serve: Serve) -> None:
    bases = {RowKey(NOON_US, (base, 132)): cells_of(BY_BASE, at) for at, base in enumerate((None, "=B1"))}
    tables = {ZONE_DEMAND: zone_table((0, 132), (1, 7)), BY_BASE: bases, VENDOR_TRIPS: {}}
    url = url_of(await serve(ready_directory([task_of(0, tables)])))
    table = await run("zone_demand", "--zone", "132", "--worker", url)
    assert (table.exit_code, "zone_demand as of 1970-01-01T00:00:00Z" in table.output) == (0, True)
    answer = json.loads((await run("zone_demand", "--zone", "132", "--json", "--worker", url)).output)
    assert [row["group"]["zone_name"] for row in answer["data"]] == ["JFK Airport"]
    lines = list(csv.DictReader(io.StringIO((await run("by_base", "--csv", "--worker", url)).output)))
    assert [line["base"] for line in lines] == ["", "'=B1"]
    newest = json.loads((await run("zone_demand", "--newest", "--limit", "1", "--json", "--worker", url)).output)
    assert newest["data"][0]["group"]["zone"] == 7


async def test_what_is_asked_for_by_name_is_shown(serve: Serve) -> None:
    url = url_of(await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))})])))
    values = ("zone_demand", "--measure", "total_cents", "--measure", "total_cents_values", "--worker", url)
    assert "total_cents_values" in (await run(*values)).output
    assert "total_cents_values" not in (await run("zone_demand", "--worker", url)).output


async def test_null_and_the_text_null_are_asked_for_each(serve: Serve) -> None:
    bases = {RowKey(NOON_US, (base, 132)): cells_of(BY_BASE, at) for at, base in enumerate((None, "null"))}
    url = url_of(await serve(ready_directory([task_of(0, {BY_BASE: bases})])))
    for told, base in (("null", None), ('"null"', "null")):
        answer = json.loads((await run("by_base", "--group", f"base={told}", "--json", "--worker", url)).output)
        assert [row["group"]["base"] for row in answer["data"]] == [base]


async def test_a_problem_is_told_in_its_own_words(serve: Serve) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: {}})])
    url = url_of(await serve(directory))
    wrong = await run("zone_demand", "--limit", "0", "--worker", url)
    assert (wrong.exit_code, "limit=0: 1 to 10000" in str(wrong.exception)) == (1, True)
    unknown = await run("zone_demands", "--worker", url)
    assert "there are: zone_demand, vendor_trips" in str(unknown.exception)
    directory.standing = GroupStanding.REBALANCING
    assert "handed over" in str((await run("zone_demand", "--worker", url)).exception)


async def test_no_worker_at_the_address_says_how_to_start_one(unused_tcp_port: int) -> None:
    result = await run("zone_demand", "--worker", f"http://127.0.0.1:{unused_tcp_port}")
    assert (result.exit_code, "flagfall worker" in str(result.exception)) == (1, True)
