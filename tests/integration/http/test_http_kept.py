"""Rows are kept by those who ask: asked for again by their name, and not at all for a while once they are closed."""

from __future__ import annotations

import pytest

from app.domain.windows.instants import to_iso
from app.rides.views import ZONE_DEMAND
from tests.support.http import NOON_US, PANE_US, Serve, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"
TABLE = {ZONE_DEMAND: zone_table((0, 1), (1, 1))}
FIRST_CLOSES_US = NOON_US + PANE_US + ZONE_DEMAND.grace_us


async def test_an_answer_is_not_given_twice_until_a_word_of_it_is_another(serve: Serve) -> None:
    directory = ready_directory([task_of(0, TABLE)])
    client = await serve(directory)
    first = await client.get(ROWS)
    named = {"If-None-Match": first.headers["ETag"]}
    again = await client.get(ROWS, headers=named)
    assert (again.status, await again.read(), again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    other = await client.get(ROWS, params={"limit": 1}, headers=named)
    assert other.status == 200
    assert other.headers["ETag"] != first.headers["ETag"]
    directory.tasks[0] = task_of(0, TABLE, next_offset=101)
    moved = await client.get(ROWS, headers=named)
    assert moved.status == 200
    assert (await moved.json())["meta"]["position"]["rides.yellow-0"] == 101


@pytest.mark.parametrize("known", ['"other"', '"other", {}', "W/{}", "*", "nonsense"])
async def test_any_of_the_names_that_a_client_knows_is_enough(serve: Serve, known: str) -> None:
    client = await serve(ready_directory([task_of(0, TABLE)]))
    named = (await client.get(ROWS)).headers["ETag"]
    answer = await client.get(ROWS, headers={"If-None-Match": known.format(named)})
    assert answer.status == (304 if named in known.format(named) or known == "*" else 200)


@pytest.mark.parametrize(
    ("to_us", "watermark_us", "is_closed"),
    [
        (NOON_US + PANE_US, FIRST_CLOSES_US, True),
        (NOON_US + PANE_US, FIRST_CLOSES_US - 1, False),
        (NOON_US + PANE_US + 1, FIRST_CLOSES_US, False),  # the window that begins a microsecond before it is open
        (None, FIRST_CLOSES_US + 10**12, False),  # windows that begin later come later
    ],
)
async def test_only_closed_windows_are_kept_without_asking(
    serve: Serve, to_us: int | None, watermark_us: int, is_closed: bool
) -> None:
    client = await serve(ready_directory([task_of(0, TABLE, watermark_us=watermark_us)]))
    asked = {} if to_us is None else {"to": to_iso(to_us)}
    answer = await client.get(ROWS, params=asked)
    assert answer.headers["Cache-Control"] == ("private, max-age=3600" if is_closed else "private, no-cache")
    assert answer.headers["Vary"] == "Accept"
