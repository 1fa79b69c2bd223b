"""What the page says of an address that it cannot follow, in place of showing something else without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright import async_api as playwright
from playwright.async_api import expect

from app.domain.measures.kinds import Count, Max
from app.domain.rows import RowKey
from app.domain.view import Group, View
from app.domain.windows.tumbling import Tumbling
from app.rides.ride import RIDES as SOURCE
from tests.support.http import NOON_US, PANE_US, Serve, server_of, url_of
from tests.support.material.stored.tables import ready_directory, task_of
from tests.support.pages.city import JFK, counted, opened, zone

CANNOT = "Of the address could not be used: "
LATE = "9999-01-01T00:00:00Z"
NO_YEAR = "9999-12-31T23:59:00-09:00"
"""Of the year 10000, which answers have no form for."""
LAST_SEEN = View(
    number=79,
    name="last_seen",
    source=SOURCE,
    groups=(Group("zone", "pickup_zone"),),
    window=Tumbling("pickup_at_us", 300),
    measures=(Max("latest_us", "pickup_at_us"), Count("rides")),
    grace_seconds=3600,
    retention_seconds=0,
    help="When the last ride of a zone began.",
)


@pytest.mark.parametrize(
    ("asked", "unusable", "left"),
    [
        ("view=nosuch&measure=x&window=1h", "view=nosuch, measure=x", "view=zone_demand&measure=rides&window=1h"),
        ("window=1000d", "window=1000d", "view=zone_demand&measure=rides&window=1h"),
        ("window=5m&to=garbage", "to=garbage", "view=zone_demand&measure=rides&window=5m"),
        ("window=5m&to=5", "to=5", "view=zone_demand&measure=rides&window=5m"),
        (f"window=5m&to={LATE}", f"to={LATE}", "view=zone_demand&measure=rides&window=5m"),
        ("window=5m&to=1969-07-20T20:15:00Z", "to=1969-07-20T20:15:00Z", "view=zone_demand&measure=rides&window=5m"),
        (f"window=5m&to={NO_YEAR}", f"to={NO_YEAR}", "view=zone_demand&measure=rides&window=5m"),
        ("window=5m&veiw=zone_demand", "veiw=zone_demand", "view=zone_demand&measure=rides&window=5m"),
        ("window=5m&window=15m", "window=15m", "view=zone_demand&measure=rides&window=5m"),
        ("window=5m&zone=JFK", "zone=JFK", "view=zone_demand&measure=rides&window=5m"),
        ("window=5m&zone=99999", "zone=99999", "view=zone_demand&measure=rides&window=5m"),
    ],
)
async def test_what_an_address_asks_for_that_there_is_not_is_said_and_taken_from_it(
    serve: Serve, browser: playwright.Browser, asked: str, unusable: str, left: str
) -> None:
    _, _, client = await opened(serve, browser)
    page = await browser.new_page()
    await page.goto(f"{url_of(client)}/#{asked}")
    length = left.rpartition("=")[2]
    said = f"{CANNOT}{unusable}. Shown instead: zone_demand, rides, over {length}, now."
    await expect(page.locator("#city-address[role=status]")).to_have_text(said)
    await expect(page.locator("#city-status")).to_contain_text("Live")
    assert page.url == f"{url_of(client)}/#{left}"
    await expect(page.locator("#city-zone")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_is_said_within_a_telephones_screen_until_something_is_chosen(
    serve: Serve, browser: playwright.Browser, scheme: str
) -> None:
    _, _, client = await opened(serve, browser)
    page = await browser.new_page(color_scheme=scheme, viewport={"width": 360, "height": 800})
    await page.goto(f"{url_of(client)}/#view={'x' * 500}")
    said = page.locator("#city-address")
    await expect(said).to_contain_text(f"{CANNOT}view=xxx")
    await expect(page.locator("#city-status")).to_contain_text("Live")
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
    await page.locator("select[name=length]").select_option("15m")
    await expect(said).to_have_text("")


async def test_an_address_that_is_changed_while_the_page_is_open_is_followed(
    serve: Serve, browser: playwright.Browser
) -> None:
    page, *_ = await opened(serve, browser)
    await zone(page, JFK).click()
    await page.evaluate("location.hash = 'window=1h&to=2024-01-31T11:00:00Z'")
    await expect(page.locator("#city-window")).to_have_text("2024-01-31 10:00 – 11:00 UTC")
    await expect(page.locator("#city-zone")).to_be_hidden()
    await expect(page.locator("#city-address")).to_have_text("")
    await page.evaluate("location.hash = 'view=nosuch'")
    await expect(page.locator("#city-address")).to_contain_text("view=nosuch")
    assert page.url.endswith("#view=zone_demand&measure=rides&window=1h")


async def test_an_instant_is_no_amount_to_colour_a_map_by(tmp_path: Path, browser: playwright.Browser) -> None:
    table = {RowKey(NOON_US - PANE_US, (JFK,)): counted(LAST_SEEN, 7)}
    page = await browser.new_page()
    async with server_of(tmp_path, [LAST_SEEN]) as serve:
        client = await serve(ready_directory([task_of(0, {LAST_SEEN: table}, watermark_us=NOON_US)]))
        await page.goto(f"{url_of(client)}/#window=5m&measure=latest_us")
        await expect(page.locator("select[name=measure] option")).to_have_text(["rides"])
        await expect(page.locator("#city-address")).to_contain_text("measure=latest_us")
        await expect(zone(page, JFK)).to_have_attribute("aria-label", "JFK Airport, Queens: 7")
