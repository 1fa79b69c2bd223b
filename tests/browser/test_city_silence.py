"""A worker that stands still: what it said last is not shown as if it were of this moment."""

from __future__ import annotations

from pathlib import Path

from playwright import async_api as playwright
from playwright.async_api import expect

from app.base.setting_groups import HttpSettings
from tests.support.http import Serve, server_of, url_of
from tests.support.material.stored.tables import ready_directory
from tests.support.pages.city import JFK, RIDES, TROUBLE_MS, opened, task, zone


async def never(_: playwright.Route) -> None:
    """As a process that is stopped: the connection stands, and nothing comes."""


async def test_a_frozen_worker_is_told_before_its_stream_is_missed(serve: Serve, browser: playwright.Browser) -> None:
    page, directory, client = await opened(serve, browser)
    frozen = [f"{url_of(client)}/", "**/livez", "**/v1/**"]
    for address in frozen:
        await page.route(address, never)
    await expect(page.locator("#city-status")).to_contain_text("The worker does not answer", timeout=TROUBLE_MS)
    await expect(page.locator("#city-status")).to_contain_text("What is shown is of 2024-01-31 12:00 UTC")
    await expect(page.locator("#city.stale")).to_have_count(1)
    assert await page.locator("#cards.stale, #tables.stale").count() == 2
    directory.tasks[0] = task(RIDES | {JFK: 8}, next_offset=101)
    for address in frozen:
        await page.unroute(address)
    await expect(page.locator("#city-status")).to_contain_text("Live", timeout=TROUBLE_MS)
    await expect(zone(page, JFK)).to_have_attribute("aria-label", "JFK Airport, Queens: 8")
    await expect(page.locator("#cards.stale, #tables.stale")).to_have_count(0, timeout=TROUBLE_MS)


async def test_a_window_of_the_past_is_asked_for_again_when_the_worker_answers_again(
    serve: Serve, browser: playwright.Browser
) -> None:
    page, *_ = await opened(serve, browser)
    await page.get_by_label("windows back").fill("-12")
    await expect(page.locator("#city-status")).to_contain_text("A window of the past")
    await page.route("**/livez", lambda route: route.abort())
    await expect(page.locator("#city-status")).to_contain_text("The worker cannot be reached", timeout=TROUBLE_MS)
    await page.unroute("**/livez")
    await expect(page.locator("#city-status")).to_contain_text("A window of the past", timeout=TROUBLE_MS)
    await expect(page.locator("#city.stale")).to_have_count(0)


async def test_a_stream_is_missed_after_heartbeats_of_the_length_that_the_worker_is_told(
    tmp_path: Path, browser: playwright.Browser
) -> None:
    page = await browser.new_page()
    await page.clock.install()
    async with server_of(tmp_path, limits=HttpSettings(heartbeat_seconds=60)) as serve:
        client = await serve(ready_directory([task(RIDES)]))
        await page.goto(f"{url_of(client)}/#window=5m")
        await expect(page.locator("#city-status")).to_contain_text("Live")
        await page.clock.fast_forward(120_000)
        assert "Live" in await page.locator("#city-status").inner_text()
        await page.route("**/changes?*", never)
        await page.clock.fast_forward(60_000)
        await expect(page.locator("#city-status")).to_contain_text("The worker has not been heard of")
