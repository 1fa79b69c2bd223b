"""The first page in Chromium: it shows the figures, fits a telephone, and breaks none of its own rules."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright import async_api as playwright
from playwright.async_api import expect

from app.base.files.trail import Trail
from app.domain.event_time import NO_WATERMARK
from app.domain.rows import RowKey
from app.domain.windows.instants import to_iso
from app.engine.drive.standing import GroupStanding
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from spark_batch.findings.written import RUN_FILES, write_report
from tests.support.http import BY_BASE, NOON_US, Serve, one_task, url_of, zone_table
from tests.support.material.stored.runs import verdicts_in
from tests.support.material.stored.sample_report import sample_report
from tests.support.material.stored.tables import cells_of, ready_directory, task_of


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1360])
async def test_the_page_shows_its_figures_within_the_screen(
    serve: Serve, browser: playwright.Browser, scheme: str, width: int
) -> None:
    vendors = {RowKey(None, ("1",)): cells_of(VENDOR_TRIPS, 4)}
    tables = {ZONE_DEMAND: zone_table((0, 132), (1, None)), VENDOR_TRIPS: vendors, BY_BASE: {}}
    client = await serve(ready_directory([task_of(0, tables, next_offset=5432)]))
    page = await browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    answer = await page.goto(url_of(client))
    assert answer is not None
    assert answer.status == 200
    assert complaints == []
    assert await page.locator("#tables").get_by_text("JFK Airport").count() == 1
    assert await page.get_by_text("5,432").count() == 4
    links = page.get_by_role("link", name="its records")
    assert f"/v1/views/zone_demand/evidence?zone=132&from={quote(to_iso(NOON_US))}&limit=1000" in [
        await link.get_attribute("href") for link in await links.all()
    ]
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    assert await page.evaluate("getComputedStyle(document.querySelector('.card')).borderLeftWidth") == "4px"


async def test_while_the_tables_are_read_back_the_page_says_so(serve: Serve, browser: playwright.Browser) -> None:
    directory = ready_directory([])
    directory.standing = GroupStanding.RECOVERING
    client = await serve(directory)
    page = await browser.new_page()
    answer = await page.goto(url_of(client))
    assert answer is not None
    assert answer.status == 503
    assert "The tables are being read back from their changelog." in await page.locator(".banner").inner_text()
    await expect(page.locator("#city-status")).to_contain_text("The tables are being read back from their changelog.")
    assert await page.get_by_role("table").count() == 0


async def test_on_a_telephone_too_the_page_says_which_partitions_hold_the_rest_back(
    serve: Serve, browser: playwright.Browser
) -> None:
    """Their names are long, and stay within the screen."""
    task = task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, watermark_us=NOON_US)
    inputs = {
        n: at if n == "rides.yellow" else replace(at, watermark_us=NO_WATERMARK) for n, at in task.marker.inputs.items()
    }
    client = await serve(ready_directory([replace(task, marker=replace(task.marker, inputs=inputs))]))
    page = await browser.new_page(viewport={"width": 360, "height": 800})
    await page.goto(url_of(client))
    said = await page.locator("#held-back").inner_text()
    assert said.startswith("held back by rides.fhv-0, rides.green-0, rides.hvfhv-0, without any record")
    assert await page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("address", ["/v1/reconciliation/{run}/page", "/v1/views", "/"])
async def test_a_browser_finds_the_icon_wherever_it_looks_for_one(
    serve: Serve, browser: playwright.Browser, tmp_path: Path, address: str
) -> None:
    """Beside a page that names none it asks for /favicon.ico."""
    client, report = await serve(one_task()), sample_report()
    runs = verdicts_in(tmp_path).runs
    write_report(report, runs / report.run_id)
    Trail(runs).append(report.of_trail, RUN_FILES, tmp_path / "audit.pem")
    page = await browser.new_page()
    network = await page.context.new_cdp_session(page)
    await network.send("Network.enable")
    icon: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def take(told: dict[str, Any]) -> None:
        if "icon" in told["response"]["url"] and not icon.done():
            icon.set_result(told["response"]["status"])

    network.on("Network.responseReceived", take)
    await page.goto(url_of(client) + address.format(run=report.run_id))
    assert await asyncio.wait_for(icon, 20) == 200


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1360])
async def test_the_page_of_a_run_is_drawn_in_its_own_style_within_the_screen(
    serve: Serve, browser: playwright.Browser, tmp_path: Path, scheme: str, width: int
) -> None:
    client, report = await serve(one_task()), sample_report()
    runs = verdicts_in(tmp_path).runs
    write_report(report, runs / report.run_id)
    Trail(runs).append(report.of_trail, RUN_FILES, tmp_path / "audit.pem")
    page = await browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    await page.goto(f"{url_of(client)}/v1/reconciliation/{report.run_id}/page")
    assert complaints == []
    assert await page.evaluate("getComputedStyle(document.querySelector('.card')).borderLeftWidth") == "4px"
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    await page.get_by_text("not applied, 1 record").first.click()
    assert await page.get_by_text("<script>alert(0)</script>").is_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") == width
