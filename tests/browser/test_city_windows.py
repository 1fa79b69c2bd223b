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
from app.rides.ride import RIDES as SOURCE
from tests.support.http import NOON_US, server_of, url_of
from tests.support.material.stored.tables import ready_directory, task_of
from tests.support.pages.city import JFK, counted, zone

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
