"""The city on the first page in Chromium: coloured, walked over, turned back, moving, and plain about what is amiss."""

from __future__ import annotations

from itertools import product
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright import async_api as playwright
from playwright.async_api import expect

from app.domain.column import NumberUnit
from app.edge.http.page.figures import figure, heading
from app.engine.drive.standing import GroupStanding
from tests.support.http import NOON_US, Serve, url_of
from tests.support.material.stored.tables import ready_directory
from tests.support.pages.city import JFK, MIDTOWN, RIDES, TROUBLE_MS, UNKNOWN, opened, task, zone


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1360])
async def test_zones_are_coloured_and_the_highest_listed_within_the_screen(
    serve: Serve, browser: playwright.Browser, scheme: str, width: int
) -> None:
    page, *_ = await opened(serve, browser, color_scheme=scheme, viewport={"width": width, "height": 800})
    await expect(zone(page, MIDTOWN)).to_have_attribute("data-level", "6")
    await expect(zone(page, JFK)).to_have_attribute("aria-label", "JFK Airport, Queens: 7")
    await expect(zone(page, 1)).to_have_attribute("data-level", "none")
    first = page.locator("#highest tr").first
    assert await first.locator("th, td").all_inner_texts() == ["Midtown Center", "90", "1", "–"]
    link = urlsplit(await first.get_by_role("link").get_attribute("href") or "")
    assert link.path == "/v1/views/zone_demand/evidence"
    assert parse_qs(link.query) == {
        "zone": [str(MIDTOWN)],
        "from": ["2024-01-31T11:55:00Z"],
        "to": ["2024-01-31T12:00:00Z"],
        "limit": ["1000"],
    }
    assert await page.locator("#city-elsewhere").inner_text() == "Not on the map: no zone 2 · N/A 3"
    assert await page.evaluate("document.documentElement.scrollWidth") == width


async def test_every_button_of_the_highest_zones_chooses_one(serve: Serve, browser: playwright.Browser) -> None:
    """Rides without a zone are of none that could be chosen."""
    page, *_ = await opened(serve, browser)
    rows = page.locator("#highest tr")
    await expect(rows).to_have_count(len(RIDES))
    buttons = rows.get_by_role("button")
    assert await buttons.all_inner_texts() == ["Midtown Center", "JFK Airport", "N/A"]
    for number, button in zip((MIDTOWN, JFK, UNKNOWN), await buttons.all(), strict=True):
        await button.click()
        assert page.url.endswith(f"zone={number}")
    assert await rows.last.locator("th").inner_text() == "no zone"


async def test_the_map_is_walked_over_with_the_arrow_keys(serve: Serve, browser: playwright.Browser) -> None:
    page, *_ = await opened(serve, browser)
    await zone(page, JFK).click()
    await expect(page.locator("#zone-name")).to_have_text("JFK Airport, Queens")
    assert "zone=132" in page.url
    await page.keyboard.press("ArrowUp")
    focused = await page.evaluate("document.activeElement.dataset.zone")
    assert focused not in (None, str(JFK))
    await page.keyboard.press("Enter")
    await expect(page.locator(f'#city-map path[data-zone="{focused}"]')).to_have_attribute("aria-pressed", "true")
    assert f"zone={focused}" in page.url
    assert await page.evaluate("document.activeElement.dataset.zone") == focused


async def test_the_figures_move_with_the_stream_without_a_reload(serve: Serve, browser: playwright.Browser) -> None:
    page, directory, _ = await opened(serve, browser)
    await page.evaluate("window.isTheSame = true")
    directory.tasks[0] = task(RIDES | {JFK: 8}, next_offset=101)
    await expect(zone(page, JFK)).to_have_attribute("aria-label", "JFK Airport, Queens: 8")
    assert await page.evaluate("window.isTheSame")


async def test_windows_of_the_past_are_gone_back_to(serve: Serve, browser: playwright.Browser) -> None:
    page, *_ = await opened(serve, browser)
    await page.locator("select[name=length]").select_option("1h")
    await expect(page.locator("#city-window")).to_have_text("2024-01-31 11:00 – 12:00 UTC")
    await page.get_by_label("windows back").fill("-1")
    await expect(page.locator("#city-window")).to_have_text("2024-01-31 10:00 – 11:00 UTC")
    await expect(zone(page, MIDTOWN)).to_have_attribute("aria-label", "Midtown Center, Manhattan: 1")
    await expect(page.locator("#city-status")).to_contain_text("A window of the past")
    await page.get_by_role("button", name="back to now").click()
    await expect(zone(page, MIDTOWN)).to_have_attribute("aria-label", "Midtown Center, Manhattan: 90")


async def test_a_zones_windows_lead_to_their_records(serve: Serve, browser: playwright.Browser) -> None:
    page, *_ = await opened(serve, browser)
    await zone(page, JFK).click()
    bars = page.locator("#zone-bars a")
    await expect(bars).to_have_count(2)
    assert await bars.last.get_attribute("aria-label") == "2024-01-31 11:55 – 12:00: 7, open"
    assert "from=2024-01-31T11%3A55%3A00Z" in (await bars.last.get_attribute("href") or "")


async def test_trouble_is_told_for_as_long_as_it_lasts(serve: Serve, browser: playwright.Browser) -> None:
    """A rebalance, and then a worker that is gone."""
    page, directory, client = await opened(serve, browser)
    status = page.locator("#city-status")
    directory.standing = GroupStanding.REBALANCING
    await expect(status).to_contain_text("Partitions are being handed over between workers.")
    await expect(status).to_contain_text("What is shown is of 2024-01-31 12:00 UTC")
    await expect(page.locator("#city.stale")).to_have_count(1)
    directory.standing = GroupStanding.READY
    await expect(status).to_contain_text("Live", timeout=TROUBLE_MS)
    await expect(page.locator("#city.stale")).to_have_count(0)
    await client.close()
    await expect(status).to_contain_text("The worker cannot be reached")
    await expect(page.locator("#cards.stale")).to_have_count(1)
    await expect(page.locator("#city.stale")).to_have_count(1)


async def test_cards_are_dimmed_soon_where_a_worker_answers_some_requests_yet(
    serve: Serve, browser: playwright.Browser
) -> None:
    """A worker that stops ends its streams first, and may draw a page once more."""
    client = await serve(ready_directory([task(RIDES)]))
    page = await browser.new_page()
    await page.route("**/changes?*", lambda route: route.abort())
    await page.goto(url_of(client))
    await expect(page.locator("#city-status")).to_contain_text("The worker cannot be reached")
    await expect(page.locator("#cards.stale")).to_have_count(0)
    await page.route(url_of(client), lambda route: route.abort())
    await expect(page.locator("#cards.stale")).to_have_count(1)


async def test_the_page_and_its_scripts_write_figures_alike(serve: Serve, browser: playwright.Browser) -> None:
    page, *_ = await opened(serve, browser)
    values = [None, 0, 1, -1, 25, 35, 999, 1_234_567, -4_250, 59_999_999, 60_000_000, 3_599_000_000, -7_265_000_000]
    names = ["rides", "tip_cents", "longest_us", "latest_at_us", "distance_hundredth_miles"]
    units = [None, *NumberUnit]
    asked, headed = list(product(units, [*values, NOON_US])), list(product(units, names))
    script = "async ([asked, headed]) => { const of = await import('/static/figures.js');"
    script += " return [asked.map((one) => of.figure(...one)), headed.map((one) => of.heading(...one))]; }"
    assert await page.evaluate(script, [asked, headed]) == [
        [figure(unit, value) for unit, value in asked],
        [heading(unit, name) for unit, name in headed],
    ]


async def test_nothing_is_asked_of_anybody_else(serve: Serve, browser: playwright.Browser) -> None:
    directory = ready_directory([task(RIDES)])
    client = await serve(directory)
    page = await browser.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    await page.goto(url_of(client))
    await expect(page.locator("#city-status")).to_contain_text("Live")
    assert complaints == []
    assert {urlsplit(address).netloc for address in asked} == {urlsplit(url_of(client)).netloc}
