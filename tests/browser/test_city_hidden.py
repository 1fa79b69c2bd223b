"""Tabs that nobody looks at: they hold no stream and ask nothing, and come back with what is so."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from playwright import async_api as playwright
from playwright.async_api import expect

from app.base.setting_groups import HttpSettings
from tests.support.http import Client, Serve, server_of, url_of
from tests.support.machine.waiting import PATIENCE
from tests.support.material.stored.tables import ready_directory
from tests.support.pages.city import JFK, MIDTOWN, RIDES, TROUBLE_MS, opened, task, zone

CONNECTIONS = 6
"""That a browser opens to one host over HTTP/1.1."""
FAST = HttpSettings(heartbeat_seconds=1)
"""A stream that was left counts until its next event."""


async def look_away(page: playwright.Page, *, hidden: bool = True) -> None:
    """As a browser tells a page whose tab goes behind another, or comes back."""
    told = f"{{ get: () => {'true' if hidden else 'false'}, configurable: true }}"
    state = f"{{ get: () => '{'hidden' if hidden else 'visible'}', configurable: true }}"
    await page.evaluate(
        f"Object.defineProperty(document, 'hidden', {told});"
        f"Object.defineProperty(document, 'visibilityState', {state});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )


async def has_streams(client: Client, count: int) -> None:
    """Waits until the worker holds so many open."""

    told, wanted = "", f'flagfall_http_requests_in_flight{{gate="streams"}} {count}.0'
    async with asyncio.timeout(20 * PATIENCE):
        while wanted not in told:
            told = await (await client.get("/metrics")).text()


async def test_more_tabs_than_a_browser_has_connections_work_as_long_as_few_are_looked_at(
    tmp_path: Path, browser: playwright.Browser
) -> None:
    window = await browser.new_context()
    async with server_of(tmp_path, limits=FAST) as serve:
        directory = ready_directory([task(RIDES)])
        client = await serve(directory)
        for _ in range(CONNECTIONS + 1):
            for before in window.pages:
                await look_away(before)
            page = await window.new_page()
            await page.goto(f"{url_of(client)}/#window=5m")
            await expect(page.locator("#city-status")).to_contain_text("Live")
        await has_streams(client, 1)
        directory.tasks[0] = task(RIDES | {JFK: 8}, next_offset=101)
        await expect(zone(page, JFK)).to_have_attribute("aria-label", "JFK Airport, Queens: 8")
        await look_away(window.pages[0], hidden=False)
        await expect(window.pages[0].locator("#city-status")).to_contain_text("Live")
        await expect(zone(window.pages[0], JFK)).to_have_attribute("aria-label", "JFK Airport, Queens: 8")


async def test_a_tab_that_is_looked_at_again_is_not_called_live_before_it_is(
    serve: Serve, browser: playwright.Browser
) -> None:
    page, directory, _ = await opened(serve, browser)
    status, held = page.locator("#city-status"), list[playwright.Route]()
    await look_away(page)
    await expect(page.locator("#city.stale, #cards.stale, #tables.stale")).to_have_count(3)
    directory.tasks[0] = task(RIDES | {JFK: 8}, next_offset=101)

    async def hold(route: playwright.Route) -> None:
        held.append(route)

    await page.route("**/changes?*", hold)
    async with page.expect_request("**/changes?*"):
        await look_away(page, hidden=False)
    await expect(status).to_have_text(re.compile("^Asking the worker again.* What is shown is of 2024-01-31 12:00 UTC"))
    await expect(page.locator("#city.stale")).to_have_count(1)
    await held[0].continue_()
    await expect(status).to_contain_text("Live")
    await expect(zone(page, JFK)).to_have_attribute("aria-label", "JFK Airport, Queens: 8")
    await expect(page.locator(".stale")).to_have_count(0)


async def test_a_tab_that_is_not_looked_at_asks_nothing(serve: Serve, browser: playwright.Browser) -> None:
    _, _, client = await opened(serve, browser)
    page = await browser.new_page()
    await page.clock.install()
    await page.goto(f"{url_of(client)}/#window=5m")
    await expect(page.locator("#city-status")).to_contain_text("Live")
    async with page.expect_response("**/livez"):
        await page.clock.fast_forward(4_000)
    await look_away(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(20):
        await page.clock.fast_forward(4_000)
    assert asked == []
    async with page.expect_request("**/livez"):
        await look_away(page, hidden=False)
        await page.clock.fast_forward(4_000)


async def test_a_tab_that_is_opened_behind_others_begins_when_it_is_looked_at(
    serve: Serve, browser: playwright.Browser
) -> None:
    _, _, client = await opened(serve, browser)
    page = await browser.new_page()
    await page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(f"{url_of(client)}/#window=5m")
    await expect(page.locator("#city")).to_be_visible()
    assert not any("changes" in address for address in asked)
    await look_away(page, hidden=False)
    await expect(page.locator("#city-status")).to_contain_text("Live")


async def test_a_window_of_the_past_comes_back_too_and_what_is_amiss_is_said(
    serve: Serve, browser: playwright.Browser
) -> None:
    page, _, client = await opened(serve, browser)
    await page.get_by_label("windows back").fill("-12")
    await expect(page.locator("#city-status")).to_contain_text("A window of the past")
    await look_away(page)
    await look_away(page, hidden=False)
    await expect(page.locator("#city-status")).to_contain_text("A window of the past")
    await expect(zone(page, MIDTOWN)).to_have_attribute("aria-label", "Midtown Center, Manhattan: 1")
    await page.get_by_role("button", name="back to now").click()
    await expect(page.locator("#city-status")).to_contain_text("Live")
    await look_away(page)
    await client.close()
    await look_away(page, hidden=False)
    await expect(page.locator("#city-status")).to_contain_text("The worker cannot be reached", timeout=TROUBLE_MS)
