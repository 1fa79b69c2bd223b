"""The feeds of a worker: who asks the same shares one."""

from __future__ import annotations

import asyncio

from aiohttp import web

from app.base.setting_groups import variable
from app.edge.http.changes.feed import Feed
from app.edge.http.context import Edge, not_ready
from app.edge.http.looks import Looks
from app.edge.http.problems import Problem
from app.edge.http.query.rows_query import RowsQuery
from app.engine.drive.standing import GroupStanding

FeedKey = tuple[str, tuple[tuple[str, str], ...]]


BOUNDED_BY = variable("http_max_streamed_mb")
MOST_UNHEARD = 8
"""Feeds that nobody listens to and whose past is kept all the same, for who comes back: 4 MB each at most."""


class Feeds:
    """Feeds by what they ask, in the order in which they were last asked for; of those that nobody listens to some are
    kept."""

    def __init__(self, edge: Edge) -> None:
        self._edge, self._looks = edge, Looks()
        self._feeds: dict[FeedKey, Feed] = {}

    def of(self, query: RowsQuery) -> Feed:
        """The feed of a query; `too-many-streams` where the rows of the others fill what all may have.

        Whoever takes one listens to it before the next await.
        """
        asked = query.view.name, tuple(query.parameters())
        feed = self._feeds.pop(asked, None)
        for unheard in [other for other, one in self._feeds.items() if not one.is_heard][:-MOST_UNHEARD]:
            del self._feeds[unheard]
        if feed is None:
            self._require_room()
            feed = Feed(self._edge, query, self._looks, self._require_room)
        self._feeds[asked] = feed
        return feed

    def _require_room(self) -> None:
        """What nobody listens to makes room first."""
        most_mb = self._edge.limits.max_streamed_mb
        unheard = iter([asked for asked, feed in self._feeds.items() if not feed.is_heard])
        while sum(feed.moments.kept_bytes for feed in self._feeds.values()) >= most_mb * 1_000_000:
            if (asked := next(unheard, None)) is not None:
                del self._feeds[asked]
                continue
            told_why = f"The rows that open streams are about fill the {most_mb} MB that they may ({BOUNDED_BY}). "
            raise Problem("too-many-streams", told_why + "Ask as another stream does, another worker, or for less.")

    async def end(self) -> None:
        """Tell all who listen that this worker stops: they ask another."""
        await asyncio.gather(*(feed.moments.end(not_ready(GroupStanding.STOPPING)) for feed in self._feeds.values()))


FEEDS = web.AppKey("feeds", Feeds)
