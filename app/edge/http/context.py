"""What every handler of the edge works with, and the refusal to answer while the worker is not ready."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web

from app.base.files.verdicts import LastVerdicts
from app.base.setting_groups import HttpSettings
from app.domain.source import Source
from app.domain.view import View
from app.edge.http.long_work import LongWork
from app.edge.http.problems import Problem
from app.edge.http.zone_names import Names, no_names
from app.edge.intake.intake import Intake
from app.edge.published.known_topics import KnownTopics
from app.edge.published.result_log import ResultLog
from app.edge.published.result_topic import ResultTopic
from app.engine.drive.kafka.row_search import RowSearch
from app.engine.drive.ownership.directory import Directory
from app.engine.drive.questions import AskAwaited
from app.engine.drive.standing import GroupStanding
from app.engine.drive.watch.liveness import Liveness
from app.rides.zone_map import ZoneMap, tile_map

WHY = {
    GroupStanding.STARTING: "The worker has no partitions assigned yet.",
    GroupStanding.REBALANCING: "Partitions are being handed over between workers.",
    GroupStanding.RECOVERING: "The tables are being read back from their changelog.",
    GroupStanding.READY: "The worker answers.",
    GroupStanding.LOST: "The worker lost its group; another may own its partitions by now.",
    GroupStanding.STOPPING: "The worker is being stopped; ask another.",
}
FARTHEST = [
    GroupStanding.READY,
    GroupStanding.RECOVERING,
    GroupStanding.REBALANCING,
    GroupStanding.STARTING,
    GroupStanding.LOST,
    GroupStanding.STOPPING,
]
"""From ready to what will not be ready by itself."""


@dataclass(frozen=True)
class ServedGroup:
    """A task group as the edge sees it. `views` are those that it answers queries about; some groups have none.

    `searcher` looks for the records behind their rows; `published`: where else results of it go.
    """

    name: str
    directory: Directory
    views: tuple[View, ...]
    sources: tuple[Source, ...]
    searcher: RowSearch | None = None
    published: tuple[ResultTopic, ...] = ()

    @property
    def topics(self) -> list[str]:
        """Of the records that its tasks read."""
        return sorted(topic.name for source in self.sources for topic in source.topics)


class Edge:
    """The worker as its HTTP side sees it. `session` asks other workers; it is open while the application runs.

    `left_below_us`: by view, before which start windows had left some task's table when it was asked last.
    """

    def __init__(
        self,
        groups: Sequence[ServedGroup],
        verdicts: LastVerdicts,
        liveness: Liveness | None = None,
        names: Names | None = None,
        limits: HttpSettings | None = None,
        awaited_schemas: AskAwaited = tuple,
        history: Path | None = None,
        zone_map: ZoneMap | None = None,
        results: ResultLog | None = None,
        intake: Intake | None = None,
        topics: KnownTopics | None = None,
    ) -> None:
        self.groups = tuple(groups)
        self.views = {view.name: view for group in groups for view in group.views}
        self.verdicts, self.liveness = verdicts, liveness
        self.names = no_names() if names is None else names
        self.limits = HttpSettings() if limits is None else limits
        self.awaited_schemas = awaited_schemas
        self.history = history
        self.published = {one.topic: one for group in groups for one in group.published}
        self.results, self.intake, self.topics = results, intake, topics
        self.zone_map = tile_map() if zone_map is None else zone_map
        self.left_below_us: dict[str, int | None] = {}
        self.long_work = LongWork()
        self.session: ClientSession | None = None
        self._by_view = {view.name: group for group in groups for view in group.views}

    def view(self, name: str) -> View:
        """The view of that name, or a problem that lists what there is."""
        if name not in self.views:
            there_are = ", ".join(self.views)
            raise Problem("unknown-view", f"No view is called {name!r}; there are: {there_are}.")
        return self.views[name]

    def directory(self, view: View) -> Directory:
        """Of the group that keeps the view."""
        return self._by_view[view.name].directory

    def searcher(self, view: View) -> RowSearch:
        """Of the group that keeps the view."""
        found = self._by_view[view.name].searcher
        assert found is not None, "the application was made without one"
        return found

    @property
    def own_url(self) -> str:
        """The worker's, as others know it."""
        return self.groups[0].directory.url if self.groups else ""

    @property
    def standing(self) -> GroupStanding:
        """The worker's: of its groups' standings the one farthest from ready."""
        return max((group.directory.standing_now for group in self.groups), key=FARTHEST.index)

    @property
    def ready(self) -> bool:
        """Whether queries about every group may be answered from here."""
        return self.standing is GroupStanding.READY

    def require_ready(self, view: View, *, stale_allowed: bool = False) -> None:
        """A 503 problem unless this worker may answer about the view, or about some of its partitions."""
        self.require_answers(self.directory(view), stale_allowed=stale_allowed)

    def require_answers(self, directory: Directory, *, stale_allowed: bool = False) -> None:
        """The same of a group. By what it knew last it may answer as soon as it knows how many partitions there are."""
        if not (directory.answers or (stale_allowed and directory.partitions)):
            raise not_ready(directory.standing_now)


def not_ready(standing: GroupStanding, **extensions: Any) -> Problem:
    """The 503 problem of that standing."""
    return Problem("not-ready", WHY[standing], standing=standing.value, **extensions)


EDGE = web.AppKey("edge", Edge)


def edge_of(request: web.Request) -> Edge:
    """The edge that the request came in by."""
    return request.app[EDGE]
