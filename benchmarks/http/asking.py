"""Questions to a worker, one after the other and many at once, and how long their answers took."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

from aiohttp import ClientSession
from yarl import URL

from benchmarks.queries import figures, repeated

Load = Callable[[float], Coroutine[Any, Any, dict[str, Any]]]
"""Something that is done for so many seconds, and what it has to tell."""
BARE_PORT = "FLAGFALL_TEST_BARE_PORT"
"""The environment variable that tells the worker where its bare handler listens."""
FORMATS = ("json", "ndjson", "csv", "arrow", "parquet")
PAGE_ROWS = 10_000


class AskedRow(NamedTuple):
    """A row by its view, groups and window, and how many records it has."""

    view: str
    group: Mapping[str, str]
    start: str
    end: str
    records: int

    @property
    def address(self) -> str:
        """Of the row alone."""
        return self._address("rows", {"from": self.start, "to": self.end})

    @property
    def evidence(self) -> str:
        """Of the records behind it."""
        return self._address("evidence", {"from": self.start, "limit": "1000"})

    def _address(self, what: str, window: Mapping[str, str]) -> str:
        return str(URL(f"/v1/views/{self.view}/{what}").with_query({**self.group, **window}))


async def asked(session: ClientSession, address: str) -> tuple[float, bytes]:
    """Seconds that an answer took, and what it was. SystemExit where it is no 200."""
    began = time.perf_counter()
    async with session.get(URL(address, encoded=True)) as answer:
        body = await answer.read()
        if answer.status != 200:
            raise SystemExit(f"{address}: {answer.status} {body[:500]!r}")
    return time.perf_counter() - began, body


def asking(session: ClientSession, addresses: Sequence[str], at_once: int) -> Load:
    """Asks for these by turns, so many at once."""
    turns = cycle(addresses)

    async def ask() -> float:
        seconds, _ = await asked(session, next(turns))
        return seconds

    async def load(seconds: float) -> dict[str, Any]:
        return figures(await repeated(ask, at_once, seconds), seconds)

    return load


async def document(session: ClientSession, address: str) -> dict[str, Any]:
    """The answer's JSON."""
    async with session.get(URL(address, encoded=True)) as answer:
        answer.raise_for_status()
        found: dict[str, Any] = await answer.json()
    return found


async def pages(session: ClientSession, view: str, rows: int) -> list[str]:
    """Addresses of the pages that hold so many rows of a view."""
    told, cursor = list[str](), None
    while PAGE_ROWS * len(told) < rows:
        query = {"limit": str(PAGE_ROWS), **({} if cursor is None else {"cursor": cursor})}
        told.append(str(URL(f"/v1/views/{view}/rows").with_query(query)))
        cursor = (await document(session, told[-1]))["meta"]["next_cursor"]
        if cursor is None:
            break
    return told


def scanning(session: ClientSession, addresses: Sequence[str], which: str) -> Load:
    """Reads all these pages in a format, again and again; `seconds` for once."""

    async def load(seconds: float) -> dict[str, Any]:
        took = list[float]()
        while not took or sum(took) < seconds:
            answers = [await asked(session, f"{address}&format={which}") for address in addresses]
            took.append(sum(each for each, _ in answers))
        rows, size = PAGE_ROWS * len(addresses), sum(len(body) for _, body in answers)
        return {"rows": rows, "seconds": round(sum(took) / len(took), 3), "mb": round(size / 1e6, 1)}

    return load


def proving(session: ClientSession, row: AskedRow) -> Load:
    """Asks for all records behind a row, page by page, again and again; `seconds` for once."""

    async def load(seconds: float) -> dict[str, Any]:
        took = list[float]()
        while not took or sum(took) < seconds:
            began = time.perf_counter()
            records, found = await _evidence(session, row)
            if (records, found["agrees"]) != (row.records, True):
                raise SystemExit(f"{row}: {records} records, and of them {found}")
            took.append(time.perf_counter() - began)
        return {"records": row.records, "seconds": round(sum(took) / len(took), 3), "times": len(took)}

    return load


async def _evidence(session: ClientSession, row: AskedRow) -> tuple[int, dict[str, Any]]:
    """How many records all pages hold, and what the last one says of them."""
    records, cursor = 0, ""
    while True:
        found = await document(session, row.evidence + cursor)
        records += len(found["data"])
        if found["meta"]["next_cursor"] is None:
            return records, found["meta"]
        cursor = f"&cursor={found['meta']['next_cursor']}"


def nearest(rows: Sequence[AskedRow], count: int) -> AskedRow:
    """The row whose number of records is nearest to it, by their ratio."""
    return min(rows, key=lambda row: max(row.records, count) / min(row.records, count))


async def known_rows(session: ClientSession, view: str) -> list[AskedRow]:
    """Rows from both ends of the view."""
    groups = [group["name"] for group in (await document(session, f"/v1/views/{view}"))["groups"]]
    told = []
    for order in ("asc", "desc"):
        for row in (await document(session, f"/v1/views/{view}/rows?limit={PAGE_ROWS}&order={order}"))["data"]:
            key = {name: row["group"][name] for name in groups}
            if None not in key.values():
                group = {name: str(value) for name, value in key.items()}
                told.append(AskedRow(view, group, row["window"]["start"], row["window"]["end"], row["count"]))
    return told
