"""What an address of the worker is; `app.edge.http.routes` has them all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from aiohttp import web

from app.base.scopes import KeyScope
from app.domain.view import View
from app.edge.http.problems import Handler

ApiDocument = dict[str, Any]
"""A part of what OpenAPI 3.1 describes."""

CALLERS, WORKERS, EXPORTS, STREAMS, STATEMENTS = "callers", "workers", "exports", "streams", "statements"
SEARCHES, WAITS, INTAKES, SENT_ON = "searches", "waits", "intakes", "sent_on"
"""The gates: of what users ask, of what workers ask of each other, of exports, of streams of changes, of SQL; of
searches for the records behind a row, and of waits for a position; of what callers bring, and workers send on."""

ROWS, ANYTHING = "Rows", "Any"
"""The answers that have the view's own schema, in every format that there is, and no schema."""


def no_parameters(view: View | None) -> list[ApiDocument]:
    """Of an address that takes none."""
    return []


class Route(NamedTuple):
    """An address; with GET comes HEAD. `answer` names the schema of what it gives, `gate` what bounds it,
    `scope` what a key must be for that opens it, None if anybody may ask.

    `parameters` tells what it takes (of a view, where the path has one), `refuses` how else it answers, by status;
    `body` is the schema of what is sent, in JSON or as `sent` says; `also` are other media types of the answer;
    `before` is waited for outside of the gate.
    """

    path: str
    handler: Handler
    name: str
    tag: str
    summary: str
    answer: str = ANYTHING
    media_type: str = "application/json"
    gate: str | None = None
    scope: KeyScope | None = KeyScope.READ
    parameters: Callable[[View | None], list[ApiDocument]] = no_parameters
    refuses: Mapping[str, ApiDocument] = MappingProxyType({})
    method: str = "GET"
    body: ApiDocument | None = None
    also: tuple[str, ...] = ()
    sent: tuple[str, ...] = ("application/json",)
    before: Callable[[web.Request], Awaitable[None]] | None = None
