"""What every handler of the edge works with, and the refusal to answer while the worker is not ready."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aiohttp import ClientSession, web

from app.domain.view import View
from app.edge.http.problems import Problem
from app.engine.directory import Directory, Standing

WHY = {
    Standing.STARTING: "The worker has no partitions assigned yet.",
    Standing.REBALANCING: "Partitions are being handed over between workers.",
    Standing.RECOVERING: "The tables are being read back from their changelog.",
    Standing.READY: "The worker answers.",
    Standing.LOST: "The worker lost its group; another may own its partitions by now.",
    Standing.STOPPING: "The worker is being stopped; ask another.",
}


@dataclass
class Edge:
    """The worker as its HTTP side sees it. `session` asks other workers; open while the application runs."""

    directory: Directory
    views: dict[str, View]
    data_dir: Path
    session: ClientSession | None = None

    def view(self, name: str) -> View:
        """The view of that name, or a problem that lists what there is."""
        if name not in self.views:
            there_are = ", ".join(self.views)
            raise Problem("unknown-view", f"No view is called {name!r}; there are: {there_are}.")
        return self.views[name]

    @property
    def standing(self) -> Standing:
        """The worker's standing; a ready one that lost its heartbeat, or knows of no partitions, is not."""
        directory = self.directory
        if directory.standing is not Standing.READY:
            return directory.standing
        if not directory.ready:
            return Standing.LOST
        return Standing.READY if directory.partitions > 0 else Standing.STARTING

    @property
    def ready(self) -> bool:
        """Whether queries may be answered from here."""
        return self.standing is Standing.READY

    def require_ready(self) -> None:
        """A 503 problem unless this worker's state can be trusted now."""
        if not self.ready:
            raise Problem("not-ready", WHY[self.standing], standing=self.standing.value)


EDGE = web.AppKey("edge", Edge)


def edge_of(request: web.Request) -> Edge:
    """The edge that the request came in by."""
    return request.app[EDGE]
