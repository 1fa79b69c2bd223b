"""The feeds of a worker: who asks the same shares one."""

from __future__ import annotations

import asyncio

from aiohttp import web

from app.edge.http.changes.feed import Feed
from app.edge.http.context import Edge, not_ready
from app.edge.http.looks import Looks
from app.edge.http.query.rows_query import RowsQuery
from app.engine.drive.standing import GroupStanding

FeedKey = tuple[str, tuple[tuple[str, str], ...]]


class Feeds:
    """Feeds by what they ask; one that nobody listens to is forgotten as soon as another is asked for."""

    def __init__(self, edge: Edge) -> None:
        self._edge, self._looks = edge, Looks()
        self._feeds: dict[FeedKey, Feed] = {}

    def of(self, query: RowsQuery) -> Feed:
        """The feed of a query. Whoever takes one listens to it before the next await."""
        self._feeds = {asked: feed for asked, feed in self._feeds.items() if feed.is_heard}
        asked = query.view.name, tuple(query.parameters())
        return self._feeds.setdefault(asked, Feed(self._edge, query, self._looks))

    async def end(self) -> None:
        """Tell all who listen that this worker stops: they ask another."""
        await asyncio.gather(*(feed.moments.end(not_ready(GroupStanding.STOPPING)) for feed in self._feeds.values()))


FEEDS = web.AppKey("feeds", Feeds)
