"""The city on the page of one of two workers, through a rebalance and the other's death, and while it stands still:
never a figure that is wrong, what is amiss is said, and a figure is a click away from its verdict."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from playwright import async_api as playwright
from playwright.async_api import expect

from app.base.settings import Settings
from app.edge.cli.records.zones import publish_zones
from app.edge.http.page.figures import figure
from app.rides.zones import zones
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import PATIENCE, wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import covers, ready_worker, tasks_of, worker

ALL = [0, 1, 2, 3]
WAIT_MS = 30_000 * PATIENCE
PICTURES = os.environ.get("FLAGFALL_TEST_PICTURES")
"""A folder to keep a picture of each state in: those in docs/city are kept so."""


async def test_the_city_is_right_through_a_rebalance_and_a_death(
    world: Settings, browser: playwright.Browser, zone_shapes: Path | None, tmp_path: Path
) -> None:
    drawn = {"FLAGFALL_HTTP_ZONE_SHAPES_FILE": str(zone_shapes or "")}
    write_rides(world, 0, 4_000)
    publish_zones(world, zones().values())
    page = await browser.new_page(viewport={"width": 1200, "height": 860})
    status = page.locator("#city-status")
    with ready_worker(world, tmp_path, "first", **drawn) as first:
        await until(lambda: covers(world, first), "all rides are folded", [first])
        await page.goto(f"{first.url}/#window=1d")
        await expect(status).to_contain_text("Live", timeout=WAIT_MS)
        await shows_what_is_so(page, first)
        with worker(world, tmp_path, "second") as second:
            both = [first, second]
            await until(lambda: all(map(tasks_of, both)), "the tasks are shared", both)
            write_rides(world, 4_000, 4_000)
            await until(lambda: covers(world, first), "the new rides are folded", both)
            await expect(status).to_contain_text("Live", timeout=WAIT_MS)
            await shows_what_is_so(page, first)
            await picture(page, "live")
            await gives_its_verdict(page)
            second.kill()
            await expect(status).to_contain_text("What is shown is of", timeout=WAIT_MS)
            await picture(page, "not-whole")
        await until(lambda: tasks_of(first) == ALL, "the first has all tasks", [first])
        await expect(status).to_contain_text("Live", timeout=WAIT_MS)
        await shows_what_is_so(page, first)
        first.send(signal.SIGSTOP)
        await expect(status).to_contain_text("The worker does not answer", timeout=WAIT_MS)
        await expect(page.locator("#city.stale, #cards.stale, #tables.stale")).to_have_count(3)
        first.send(signal.SIGCONT)
        await expect(status).to_contain_text("Live", timeout=WAIT_MS)
        await page.emulate_media(color_scheme="dark")
        await page.set_viewport_size({"width": 390, "height": 860})
        await picture(page, "phone")
    await expect(status).to_contain_text("cannot be reached", timeout=WAIT_MS)
    await picture(page, "cut-off")


async def until(condition: Any, what: str, workers: list[Worker]) -> None:
    """Beside the browser, which goes on meanwhile."""
    await asyncio.to_thread(wait_for, condition, what, workers)


async def shows_what_is_so(page: playwright.Page, asked: Worker) -> None:
    """The highest zone on the page is that of an answer; the page may hear of a change a moment later."""
    answer = asked.get("/v1/views/zone_demand/rows", last="1d", top=1, by="rides").json()
    (highest,) = answer["data"]
    shown = page.locator("#highest tr").first.locator("td").first
    await expect(shown).to_have_text(figure(None, highest["measures"]["rides"]), timeout=WAIT_MS)


async def gives_its_verdict(page: playwright.Page) -> None:
    """On the highest zone's figure."""
    await page.locator("#highest tr").first.locator("td").first.get_by_role("link").click()
    verdict = page.get_by_role("dialog")
    await expect(verdict).to_contain_text("They agree", timeout=WAIT_MS)
    await picture(page, "verdict")
    await verdict.get_by_role("button", name="look for more").click()
    await expect(verdict).to_contain_text("Nothing else belongs to it.", timeout=WAIT_MS)
    await verdict.get_by_role("button", name="close").click()


async def picture(page: playwright.Page, state: str) -> None:
    if PICTURES is not None:
        await page.screenshot(path=Path(PICTURES) / f"{state}.png")
