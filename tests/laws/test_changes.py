"""A client that keeps rows by what a stream says has the answer, whatever it did not read, wherever it broke off."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.edge.formats.format import Document, Told
from app.edge.http.changes.events import Events
from app.edge.http.changes.framed import SNAPSHOT
from app.edge.http.changes.moments import Moments
from app.edge.http.changes.shown import shown
from app.edge.http.long_work import LongWork
from app.edge.http.problems import Problem
from app.edge.http.query.rows_query import RowsQuery
from app.rides.views import ZONE_DEMAND

pytestmark = pytest.mark.laws

QUERY = RowsQuery(ZONE_DEMAND)
PROBLEM = Problem("not-ready", "Not now.")
READS, SLEEPS, COMES_BACK = "reads", "sleeps", "comes back"

answers = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=5, unique_by=lambda row: row[0])
"""Zones and their rides, in some order."""
turns = st.tuples(st.none() | answers, st.sampled_from([READS, SLEEPS, COMES_BACK]))
"""What an answer becomes (None: there is none, and a problem why), and what a client does then."""


def rows_of(answer: Iterable[tuple[int, int]]) -> list[Document]:
    return [{"rank": nth, "group": {"zone": zone}, "rides": rides} for nth, (zone, rides) in enumerate(answer, 1)]


def told_of(answer: Iterable[tuple[int, int]]) -> Told:
    return Told(rows_of(answer), {}, table=None)


class Client:
    """Keeps rows by zone, and the id that it had last."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._held: dict[int, Document] = {}
        self._last: str | None = None
        self.come_back()

    def come_back(self) -> None:
        """A new stream, behind what was had last."""
        self._events, self._number = Events(self._moments, "/", self._last), 0

    async def read(self) -> None:
        """All that there is to read."""
        moment = self._moments.latest
        if moment.number > self._number:
            self._number = moment.number
            for event in await self._events.of(moment):
                self._take(dict(line.split(": ", 1) for line in event.decode().strip().split("\n")))

    def _take(self, event: dict[str, str]) -> None:
        told = orjson.loads(event["data"])
        if event["event"] == SNAPSHOT:
            self._held = {}
        for gone in told.get("gone", ()):
            del self._held[gone["group"]["zone"]]
        self._held |= {row["group"]["zone"]: row for row in (*told.get("rows", ()), *told.get("changed", ()))}
        self._last = event.get("id", self._last)

    @property
    def rows(self) -> list[Document]:
        """In the order of their ranks."""
        return sorted(self._held.values(), key=itemgetter("rank"))


@given(drawn=st.lists(turns, max_size=12), past_bytes=st.sampled_from([0, 150, 10_000]))
async def test_rows_kept_by_events_are_the_answer(drawn: Any, past_bytes: int) -> None:
    moments, answer = Moments(LongWork(), past_bytes), list[tuple[int, int]]()
    await moments.show(shown(QUERY, told_of(answer)))
    client = Client(moments)
    for becomes, does in [*drawn, (answer, READS)]:
        if becomes is None:
            await moments.refuse(PROBLEM)
        else:
            answer = becomes
            await moments.show(shown(QUERY, told_of(answer)))
        if does == COMES_BACK:
            client.come_back()
        if does != SLEEPS:
            await client.read()
            assert moments.latest.problem or client.rows == rows_of(answer)
