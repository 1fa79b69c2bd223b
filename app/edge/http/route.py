"""What an address of the worker is; `app.edge.http.routes` lists them."""

from __future__ import annotations

from typing import NamedTuple

from app.edge.http.problems import Handler

CALLERS, WORKERS, EXPORTS = "callers", "workers", "exports"
"""The gates: of what users ask, of what workers ask of each other, and of exports."""


class Route(NamedTuple):
    """A GET address; HEAD comes with it. `answer` names the schema of what it gives, `gate` what bounds it."""

    path: str
    handler: Handler
    name: str
    tag: str
    summary: str
    answer: str = "Any"
    media_type: str = "application/json"
    gate: str | None = None
