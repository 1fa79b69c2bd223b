"""Which windows the city offers, and that an address names the one that is looked at by its instant."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright import async_api as playwright
from playwright.async_api import expect

from app.domain.measures.kinds import Count
from app.domain.rows import RowKey
from app.domain.view import Group, View
from app.domain.windows.tumbling import Tumbling
from app.rides.questions import ROUTES
from app.rides.ride import RIDES as SOURCE
from app.rides.views import ZONE_DEMAND
from tests.support.http import NOON_US, PANE_US, Serve, server_of, url_of
from tests.support.material.stored.tables import ready_directory, task_of
from tests.support.pages.city import HOUR_US, JFK, MIDTOWN, RIDES, counted, opened, rides, task, zone

WEEK_SECONDS = 604_800


def view_of(column: str, size_seconds: int) -> View:
    """Of zones, in windows of this length."""
    return View(
        number=78,
        name="zone_long",
        source=SOURCE,
        groups=(Group("zone", column),),
        window=Tumbling("pickup_at_us", size_seconds),
        measures=(Count("rides"),),
        grace_seconds=3600,
        retention_seconds=0,
        help="Of windows that no usual length is a multiple of.",
    )


@pytest.mark.parametrize(
    ("view", "lengths"),
    [
        (view_of("pickup_zone", WEEK_SECONDS), ["7d", "14d", "28d"]),
        (view_of("dropoff_zone", 420), ["7m", "14m", "28m"]),
        (view_of("pickup_zone", 600), ["10m", "1h", "3h", "1d"]),
    ],
)
async def test_a_view_of_any_pane_is_shown_over_lengths_that_it_has(
    tmp_path: Path, browser: playwright.Browser, view: View, lengths: list[str]
) -> None:
    assert view.window.panes is not None
    start_us = view.window.panes.start(NOON_US) - view.window.panes.size_us
    table = {RowKey(start_us, (JFK,)): counted(view, 7)}
    page = await browser.new_page()
    async with server_of(tmp_path, [view]) as serve:
        client = await serve(ready_directory([task_of(0, {view: table}, watermark_us=NOON_US)]))
        await page.goto(f"{url_of(client)}/#window={lengths[0]}")
        await expect(page.locator("select[name=length] option")).to_have_text(lengths)
        await expect(page.locator("#city-status")).to_contain_text("Live")
        await expect(zone(page, JFK)).to_have_attribute("aria-label", "JFK Airport, Queens: 7")
        assert f"window={lengths[0]}" in page.url


async def test_an_address_names_the_window_whatever_has_come_since(serve: Serve, browser: playwright.Browser) -> None:
    page, directory, _ = await opened(serve, browser)
    await page.locator("select[name=length]").select_option("1h")
    await expect(page.locator("#city-window")).to_have_text("2024-01-31 11:00 – 12:00 UTC")
    await page.get_by_label("windows back").fill("-1")
    await expect(page.locator("#city-window")).to_have_text("2024-01-31 10:00 – 11:00 UTC")
    directory.tasks[0] = task(RIDES, next_offset=101, watermark_us=NOON_US + HOUR_US)
    sent = await browser.new_page()
    await sent.goto(page.url)
    await expect(sent.locator("#city-window")).to_have_text("2024-01-31 10:00 – 11:00 UTC")
    await expect(sent.locator("#city-status")).to_contain_text("A window of the past")
    await expect(sent.get_by_label("windows back")).to_have_value("-2")
    await sent.get_by_label("windows back").fill("-1")
    await expect(sent.locator("#city-window")).to_have_text("2024-01-31 11:00 – 12:00 UTC")
    await sent.get_by_role("button", name="back to now").click()
    await expect(sent.locator("#city-window")).to_have_text("2024-01-31 12:00 – 13:00 UTC")
    assert "to=" not in sent.url


@pytest.mark.parametrize("asked", ["to=2024-01-31T12:04:59.9Z", "to=2024-01-31T12:00:30Z"])
async def test_an_instant_within_a_pane_is_of_the_window_that_ends_before_it(
    serve: Serve, browser: playwright.Browser, asked: str
) -> None:
    """As answers round it: figures stand under their own window, and their records are found."""
    _, _, client = await opened(serve, browser)
    sent = await browser.new_page()
    await sent.goto(f"{url_of(client)}/#window=5m&{asked}")
    await expect(sent.locator("#city-window")).to_have_text("2024-01-31 11:55 – 12:00 UTC")
    await expect(zone(sent, MIDTOWN)).to_have_attribute("aria-label", "Midtown Center, Manhattan: 90")
    first = sent.locator("#highest tr").first
    assert await first.locator("th, td").all_inner_texts() == ["Midtown Center", "90", "1", "–"]
    link = await first.get_by_role("link").get_attribute("href") or ""
    assert parse_qs(urlsplit(link).query)["from"] == ["2024-01-31T11:55:00Z"]
    assert parse_qs(urlsplit(sent.url).fragment)["to"] == ["2024-01-31T12:00:00Z"]


async def test_a_window_that_an_address_names_too_early_is_not_called_past(
    serve: Serve, browser: playwright.Browser
) -> None:
    _, _, client = await opened(serve, browser)
    sent = await browser.new_page()
    await sent.goto(f"{url_of(client)}/#window=1h&to=2024-01-31T12%3A30%3A00Z")
    await expect(sent.locator("#city-status")).to_contain_text("A window that is not complete yet")


async def test_an_address_that_names_no_instant_is_of_now(serve: Serve, browser: playwright.Browser) -> None:
    _, _, client = await opened(serve, browser)
    sent = await browser.new_page()
    await sent.goto(f"{url_of(client)}/#window=5m&to=yesterday")
    await expect(sent.locator("#city-status")).to_contain_text("Live")


async def test_a_window_in_which_nothing_was_counted_says_so(serve: Serve, browser: playwright.Browser) -> None:
    page, *_ = await opened(serve, browser)
    await expect(page.locator("#city-empty")).to_be_hidden()
    await zone(page, 1).click()
    await expect(page.locator("#zone-note")).to_contain_text("nothing was counted here")
    await page.get_by_label("windows back").fill("-5")
    await expect(page.locator("#city-empty")).to_have_text("Nothing was counted in this window, in any zone.")
    await page.get_by_role("button", name="back to now").click()
    await expect(page.locator("#city-empty")).to_be_hidden()


async def test_a_newest_window_in_which_nothing_was_counted_is_live(serve: Serve, browser: playwright.Browser) -> None:
    page, directory, _ = await opened(serve, browser)
    directory.tasks[0] = task(RIDES, next_offset=101, watermark_us=NOON_US + HOUR_US)
    await expect(page.locator("#city-window")).to_have_text("2024-01-31 12:55 – 13:00 UTC")
    await expect(page.locator("#city-status")).to_contain_text("Live")
    await expect(page.locator("#city-empty")).to_be_visible()


async def test_card_and_city_say_the_same_time_between_two_drawings_of_the_page(
    serve: Serve, browser: playwright.Browser
) -> None:
    page, directory, client = await opened(serve, browser)
    await expect(page.locator("#cards")).to_contain_text("2024-01-31 12:00:00")
    await page.route(f"{url_of(client)}/", lambda route: route.abort())
    directory.tasks[0] = task(RIDES, next_offset=101, watermark_us=NOON_US + HOUR_US)
    await expect(page.locator("#city-status")).to_contain_text("complete up to 2024-01-31 13:00")
    assert "2024-01-31 13:00:00" in await page.locator("#cards").inner_text()


async def test_routes_stand_beside_what_they_were_an_hour_before(tmp_path: Path, browser: playwright.Browser) -> None:
    route, other = (JFK, MIDTOWN), (None, JFK)
    now, before = NOON_US - PANE_US, NOON_US - PANE_US - HOUR_US
    routes = {
        RowKey(at, of): counted(ROUTES, count)
        for at, of, count in [(now, route, 5), (now, other, 3), (before, route, 2), (before, (MIDTOWN, JFK), 9)]
    }
    page = await browser.new_page()
    async with server_of(tmp_path, (ZONE_DEMAND, ROUTES)) as serve:
        state = task_of(0, {ZONE_DEMAND: rides(RIDES), ROUTES: routes}, watermark_us=NOON_US)
        client = await serve(ready_directory([state]))
        await page.goto(f"{url_of(client)}/#window=5m")
        rows = page.locator("#routes tr")
        await expect(rows).to_have_count(2)
        assert [await row.locator("th, td").all_inner_texts() for row in await rows.all()] == [
            ["JFK Airport → Midtown Center", "5", "2", "–"],
            ["no zone → JFK Airport", "3", "–", "–"],
        ]
