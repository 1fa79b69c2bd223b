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

    def require_ready(self) -> None:
        """A 503 problem unless this worker's state can be trusted now."""
        directory = self.directory
        if directory.ready and directory.partitions > 0:
            return
        standing = Standing.STARTING if directory.ready else directory.standing
        raise Problem("not-ready", WHY[standing], standing=standing.value)


EDGE = web.AppKey("edge", Edge)


def edge_of(request: web.Request) -> Edge:
    """The edge that the request came in by."""
    return request.app[EDGE]
