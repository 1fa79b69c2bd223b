"""Which windows the city offers."""

from __future__ import annotations

from pathlib import Path

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
from tests.support.http import NOON_US, PANE_US, server_of, url_of
from tests.support.material.stored.tables import ready_directory, task_of
from tests.support.pages.city import HOUR_US, JFK, MIDTOWN, RIDES, counted, rides, zone

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
        assert await page.locator("select[name=length] option").all_inner_texts() == lengths
        await expect(page.locator("#city-status")).to_contain_text("Live")
        await expect(zone(page, JFK)).to_have_attribute("aria-label", "JFK Airport, Queens: 7")
        assert f"window={lengths[0]}" in page.url


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
