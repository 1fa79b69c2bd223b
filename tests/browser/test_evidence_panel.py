"""One click on a figure: the verdict on it, however many pages its records are; and whether the row lacks any."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright import async_api as playwright
from playwright.async_api import expect

from tests.support.http import Serve
from tests.support.pages.city import JFK, opened, zone

COUNT = 2_334
WINDOW = {"start": "2024-01-31T11:55:00Z", "end": "2024-01-31T12:00:00Z"}
GROUP = {"zone": 161, "zone_name": "Midtown Center", "zone_borough": "Manhattan"}


def record(offset: int, *, added: bool = False) -> dict[str, Any]:
    """One of a page, as docs/http.md tells it; a correction's may have lost its values."""
    values = {"pickup_at_us": "2024-01-31T11:57:11Z", "pickup_zone": 161, "base": None, "is_shared": False}
    place = {"topic": "rides.yellow", "partition": 0, "offset": offset, "timestamp": "2024-01-31T12:00:00Z"}
    return place | {"added": added, "values": {} if added else values | {"id": "x" * 500}}


def page_of(
    found: int,
    *,
    agrees: bool | None = None,
    cursor: str | None = None,
    missing: int = 0,
    to_the_end: bool = False,
    lacks: dict[str, Any] | None = None,
    records: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """A page of evidence, as docs/http.md tells it."""
    return {
        "data": records or [],
        "meta": {
            "row": {"window": WINDOW, "group": GROUP, "count": COUNT, "fingerprint": "08d0b5a6c27f1e93"},
            "found": {"count": found, "fingerprint": "08d0b5a6c27f1e93"},
            "searched_to_the_end": cursor is None and (to_the_end or missing > 0),
            "agrees": agrees,
            "missing": {"count": missing, "record": None, "logs_begin": {}} if missing else None,
            "lacks": lacks,
            "next_cursor": cursor,
        },
    }


async def answering(page: playwright.Page, pages: dict[str | None, dict[str, Any]], to_the_end: str = "false") -> None:
    """Evidence by the cursor that it is asked for with, of a first look or one to the end."""

    async def answer(route: playwright.Route) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        assert asked["limit"] == ["1000"]
        if asked.get("to_the_end", ["false"]) != [to_the_end]:
            await route.fallback()
            return
        told = pages[asked.get("cursor", [None])[0]]
        await route.fulfill(status=told.get("status", 200), content_type="application/json", body=json.dumps(told))

    await page.route("**/evidence?*", answer)


@pytest.mark.parametrize(
    ("last", "verdict"),
    [
        (page_of(COUNT, agrees=True), "They agree: all 2,334 were found, and give this row, cell by cell."),
        (page_of(2_330, agrees=False, missing=4), "They do not agree: 2,330 of 2,334 records were found"),
        (page_of(2_330, missing=4), "The topics cannot tell any more: 2,330 of 2,334 records were found"),
        ({"status": 503, "detail": "The brokers are away."}, "The brokers are away."),
    ],
)
async def test_pages_are_followed_up_to_the_verdict(
    serve: Serve, browser: playwright.Browser, last: dict[str, Any], verdict: str
) -> None:
    page, *_ = await opened(serve, browser)
    await answering(page, {None: page_of(1_000, cursor="a"), "a": page_of(2_000, cursor="b"), "b": last})
    figure = page.locator("#highest tr").first.get_by_role("link")
    await figure.click()
    shown = page.get_by_role("dialog")
    await expect(shown).to_contain_text(verdict)
    await expect(shown).to_contain_text("Midtown Center, 2024-01-31 11:55 – 12:00 UTC")
    raw = shown.get_by_role("link", name="as JSON")
    assert await raw.get_attribute("href") == await figure.get_attribute("href")
    await page.keyboard.press("Escape")
    await expect(shown).to_be_hidden()


def lacked(count: int, place: dict[str, Any] | None = None) -> dict[str, Any]:
    """The last page of a look to the end, at records that the row has not."""
    lacks = {"count": count, "record": place}
    return page_of(COUNT + count, agrees=False, to_the_end=True, lacks=lacks)


ONE = {"topic": "rides.yellow", "partition": 3, "offset": 17}


@pytest.mark.parametrize(
    ("last", "verdict", "agrees"),
    [
        (
            page_of(COUNT, agrees=True, to_the_end=True),
            "They agree: all 2,334 were found, and give this row, cell by cell. Nothing else belongs to it.",
            "true",
        ),
        (lacked(5), "They do not agree: the row lacks 5 records that belong to it.", "false"),
        (
            lacked(1, ONE),
            "They do not agree: the row lacks 1 record that belongs to it: rides.yellow, partition 3, offset 17.",
            "false",
        ),
    ],
)
async def test_it_is_looked_for_what_a_row_lacks_that_agrees(
    serve: Serve, browser: playwright.Browser, last: dict[str, Any], verdict: str, agrees: str
) -> None:
    page, *_ = await opened(serve, browser)
    await answering(page, {None: page_of(COUNT, agrees=True)})
    await answering(page, {None: page_of(1_000, cursor="a"), "a": last}, to_the_end="true")
    await page.locator("#highest tr").first.get_by_role("link").click()
    shown = page.get_by_role("dialog")
    more = shown.get_by_role("button", name="look for more")
    await more.click()
    await expect(shown.locator("#evidence-verdict")).to_have_text(verdict)
    await expect(shown.locator("#evidence-verdict")).to_have_attribute("data-agrees", agrees)
    await expect(more).to_be_hidden()
    raw = await shown.get_by_role("link", name="as JSON").get_attribute("href") or ""
    assert parse_qs(urlsplit(raw).query)["to_the_end"] == ["true"]


@pytest.mark.parametrize("last", [page_of(2_330, agrees=False, missing=4), page_of(2_330, missing=4)])
async def test_nothing_more_is_looked_for_where_the_row_is_not_right_already(
    serve: Serve, browser: playwright.Browser, last: dict[str, Any]
) -> None:
    page, *_ = await opened(serve, browser)
    await answering(page, {None: page_of(1_000, cursor="a"), "a": last})
    await page.locator("#highest tr").first.get_by_role("link").click()
    shown = page.get_by_role("dialog")
    await expect(shown).to_contain_text("2,330 of 2,334 records were found")
    await expect(shown.get_by_role("button", name="look for more")).to_be_hidden()


@pytest.mark.parametrize(
    ("found", "told"), [(1_000, "1,000 of 2,334 records found"), (2_336, "2,336 records, more than the row has, found")]
)
async def test_it_is_told_how_far_the_search_has_come(
    serve: Serve, browser: playwright.Browser, found: int, told: str
) -> None:
    page, *_ = await opened(serve, browser)
    await answering(page, {None: page_of(found, cursor="a")})
    await page.route("**/evidence?*cursor=a*", lambda route: None)
    await page.locator("#highest tr").first.get_by_role("link").click()
    shown = page.get_by_role("dialog")
    await expect(shown).to_contain_text(told)


async def test_bars_and_rows_of_the_tables_lead_to_it_too(serve: Serve, browser: playwright.Browser) -> None:
    page, *_ = await opened(serve, browser)
    await answering(page, {None: page_of(COUNT, agrees=True)})
    await zone(page, JFK).click()
    shown = page.get_by_role("dialog")
    for link in (page.locator("#zone-bars a").last, page.get_by_role("link", name="its records").first):
        await link.click()
        await expect(shown).to_contain_text("They agree")
        await shown.get_by_role("button", name="close").click()
        await expect(shown).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1360])
async def test_the_first_twenty_records_are_shown_within_the_screen(
    serve: Serve, browser: playwright.Browser, scheme: str, width: int
) -> None:
    """However many pages they are on."""
    page, *_ = await opened(serve, browser, color_scheme=scheme, viewport={"width": width, "height": 800})
    pages = [page_of(15, cursor="a", records=[record(at) for at in range(15)])]
    pages += [page_of(COUNT, agrees=True, records=[record(at, added=at == 16) for at in range(15, 40)])]
    await answering(page, {None: pages[0], "a": pages[1]})
    await page.locator("#highest tr").first.get_by_role("link").click()
    shown = page.get_by_role("dialog")
    await expect(shown).to_contain_text("They agree")
    table = shown.get_by_role("table", name="The first 20 of its 2,334 records")
    columns = ["topic", "partition", "offset", "added", "pickup_at_us", "pickup_zone", "is_shared", "id"]
    assert await table.get_by_role("columnheader").all_inner_texts() == columns
    assert await table.get_by_role("rowheader").count() == 20
    cells = ["0", "19", "false", "2024-01-31T11:57:11Z", "161", "false", f"{'x' * 80}…"]
    assert await table.get_by_role("row").last.get_by_role("cell").all_inner_texts() == cells
    assert await table.get_by_role("row").nth(17).get_by_role("cell").all_inner_texts() == ["0", "16", "true", *"––––"]
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    room = "(dialog => dialog.scrollWidth <= dialog.clientWidth)(document.getElementById('evidence'))"
    assert await page.evaluate(room)
    await expect(shown.get_by_role("button", name="close")).to_be_in_viewport()


async def test_a_row_of_few_records_shows_all_of_them_and_the_next_one_none_of_its(
    serve: Serve, browser: playwright.Browser
) -> None:
    page, *_ = await opened(serve, browser)
    told = page_of(2, agrees=True, records=[record(1), record(2)])
    told["meta"]["row"]["count"] = 2
    await answering(page, {None: told})
    figures, shown = page.locator("#highest").get_by_role("link"), page.get_by_role("dialog")
    await figures.first.click()
    await expect(shown.get_by_role("table", name="Its records")).to_be_visible()
    await page.keyboard.press("Escape")
    await answering(page, {None: {"status": 503, "detail": "The brokers are away."}})
    await figures.last.click()
    await expect(shown).to_contain_text("The brokers are away.")
    await expect(page.locator("#evidence-found")).to_be_hidden()
