"""Requests that no route takes: refused by a route too, so that all routes take every header alike."""

from __future__ import annotations

from aiohttp import web

from app.edge.http.entry.security import unread_body

_NAME = "nowhere"


def add_nowhere(app: web.Application) -> None:
    """Give the application a last route for what the others leave.

    aiohttp's own, in its absence, looks at `Expect` before any middleware is asked, and fails at one that is not UTF-8.
    """
    app.router.add_route("*", "/{path:.*}", nowhere, name=_NAME, expect_handler=unread_body)


async def nowhere(request: web.Request) -> web.StreamResponse:
    """405 where another method would be taken, else 404."""
    allowed = set[str]()
    for resource in request.app.router.resources():
        if resource.name != _NAME:
            allowed |= (await resource.resolve(request))[1]
    if allowed:
        raise web.HTTPMethodNotAllowed(request.method, allowed)
    raise web.HTTPNotFound


def is_nowhere(request: web.Request) -> bool:
    """Whether no other route takes it."""
    resource = request.match_info.route.resource
    return resource is None or resource.name == _NAME
