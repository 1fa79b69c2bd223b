"""One click on a figure: the verdict on it, however many pages its records are."""

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


def page_of(found: int, *, agrees: bool | None = None, cursor: str | None = None, missing: int = 0) -> dict[str, Any]:
    """A page of evidence, as docs/http.md tells it."""
    return {
        "data": [],
        "meta": {
            "row": {"window": WINDOW, "group": GROUP, "count": COUNT, "fingerprint": "08d0b5a6c27f1e93"},
            "found": {"count": found, "fingerprint": "08d0b5a6c27f1e93"},
            "searched_to_the_end": cursor is None,
            "agrees": agrees,
            "missing": {"count": missing, "record": None, "logs_begin": {}} if missing else None,
            "next_cursor": cursor,
        },
    }


async def answering(page: playwright.Page, pages: dict[str | None, dict[str, Any]]) -> None:
    """Evidence by the cursor that it is asked for with."""

    async def answer(route: playwright.Route) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        assert asked["limit"] == ["1000"]
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


async def test_it_is_told_how_far_the_search_has_come(serve: Serve, browser: playwright.Browser) -> None:
    page, *_ = await opened(serve, browser)
    await answering(page, {None: page_of(1_000, cursor="a")})
    await page.route("**/evidence?*cursor=a*", lambda route: None)
    await page.locator("#highest tr").first.get_by_role("link").click()
    shown = page.get_by_role("dialog")
    await expect(shown).to_contain_text("1,000 of 2,334 records found")


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
