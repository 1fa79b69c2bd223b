"""Tables by which the page's city is coloured, and the page opened in a browser."""

from __future__ import annotations

from collections.abc import Mapping

from playwright import async_api as playwright
from playwright.async_api import expect

from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.engine.core.task_state import TaskState
from app.engine.drive.ownership.directory import Directory
from app.rides.views import ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, Client, Serve, url_of
from tests.support.material.stored.tables import ready_directory, task_of

HOUR_US = 3_600_000_000
JFK, MIDTOWN, UNKNOWN = 132, 161, 264
Opened = tuple[playwright.Page, Directory, Client]
RIDES = {JFK: 7, MIDTOWN: 90, UNKNOWN: 3, None: 2}
TROUBLE_MS = 20_000


def counted(view: View, count: int) -> Cells:
    """Cells of a row of so many records, that have no values."""
    return tuple((dict.fromkeys(view.cells, 0) | {"count": count, "fingerprint": 1}).values())


def rides(by_zone: Mapping[int | None, int], ago_us: int = PANE_US) -> dict[RowKey, Cells]:
    """Rows of a pane that begins so long before noon."""
    return {RowKey(NOON_US - ago_us, (zone,)): counted(ZONE_DEMAND, count) for zone, count in by_zone.items()}


def task(by_zone: Mapping[int | None, int], next_offset: int = 100, watermark_us: int = NOON_US) -> TaskState:
    """Noon has come; an hour before, each zone had one ride."""
    table = rides(by_zone) | rides(dict.fromkeys(by_zone, 1), HOUR_US + PANE_US)
    return task_of(0, {ZONE_DEMAND: table, BY_BASE: {}}, watermark_us=watermark_us, next_offset=next_offset)


async def opened(serve: Serve, browser: playwright.Browser, **options: object) -> Opened:
    """The city of the last five minutes before noon, live."""
    directory = ready_directory([task(RIDES)])
    client = await serve(directory)
    page = await browser.new_page(**options)
    await page.goto(f"{url_of(client)}/#window=5m")
    await expect(page.locator("#city-status")).to_contain_text("Live")
    return page, directory, client


def zone(page: playwright.Page, number: int) -> playwright.Locator:
    """As the map has it."""
    return page.locator(f'#city-map path[data-zone="{number}"]')
