"""Every error as a problem document of RFC 9457; the types are listed in docs/http.md.

raise Problem("bad-parameter", "limit=0: 1 to 10000", parameter="limit")
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import orjson
from aiohttp import web

from app.base.traces import HEADER as TRACE_HEADER
from app.base.traces import begin_trace, trace_now

MEDIA_TYPE = "application/problem+json"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logging.getLogger(__name__)


class ProblemType(NamedTuple):
    """What all problems of a type share. `retryable`: the same request may succeed later."""

    status: int
    title: str
    retryable: bool = False


TYPES = {
    "bad-parameter": ProblemType(400, "A parameter cannot be used"),
    "bad-cursor": ProblemType(400, "The cursor does not belong to this request"),
    "bad-statement": ProblemType(400, "The statement is not answered"),
    "bad-request": ProblemType(400, "The request cannot be understood"),
    "no-key": ProblemType(401, "The request shows no key that counts"),
    "not-allowed": ProblemType(403, "The key does not open this address"),
    "not-taken": ProblemType(403, "The worker takes no records"),
    "not-found": ProblemType(404, "There is nothing at this address"),
    "unknown-view": ProblemType(404, "There is no such view"),
    "unknown-topic": ProblemType(404, "There is no such topic here"),
    "unknown-row": ProblemType(404, "There is no such row"),
    "not-in-history": ProblemType(404, "The history does not have these windows yet"),
    "unknown-run": ProblemType(404, "There is no such run of the reconciliation"),
    "method-not-allowed": ProblemType(405, "This address does not take this method"),
    "not-acceptable": ProblemType(406, "There is no such format"),
    "too-large": ProblemType(413, "What was sent is longer than a request may be"),
    "too-long": ProblemType(414, "The address is too long"),
    "other-host": ProblemType(421, "The request is for another host"),
    "too-much": ProblemType(422, "The answer takes more rows than one request may"),
    "refused-records": ProblemType(422, "None of the records can be taken"),
    "key-reused": ProblemType(422, "The idempotency key stands for another request"),
    "too-many-exports": ProblemType(429, "The worker gives as many exports as it may", retryable=True),
    "too-many-streams": ProblemType(429, "The worker has as many open streams as it may", retryable=True),
    "too-many-records": ProblemType(429, "The worker has as many records in hand as it may", retryable=True),
    "too-often": ProblemType(429, "The caller asks more often than it may", retryable=True),
    "history-unreadable": ProblemType(500, "What the history has of these windows cannot be read"),
    "internal-error": ProblemType(500, "The worker failed to answer"),
    "busy": ProblemType(503, "The worker has as many requests as it takes", retryable=True),
    "not-ready": ProblemType(503, "The worker cannot answer now", retryable=True),
    "no-broker": ProblemType(503, "The brokers do not answer", retryable=True),
    "no-schema": ProblemType(503, "The topic's schema cannot be had", retryable=True),
    "not-confirmed": ProblemType(503, "It is not known whether the records were written", retryable=True),
    "not-reached": ProblemType(503, "The tables do not cover the position yet", retryable=True),
    "too-slow": ProblemType(503, "The answer took longer than a request may", retryable=True),
    "stalled": ProblemType(503, "The worker has input and makes no progress", retryable=True),
    "partitions-missing": ProblemType(503, "Some partitions could not be had", retryable=True),
}
RETRY_AFTER_SECONDS = 2


class Problem(Exception):
    """An answer that is an error. `detail` is for the reader of this one case; `extensions` for programs."""

    def __init__(self, slug: str, detail: str, *, headers: dict[str, str] | None = None, **extensions: Any) -> None:
        super().__init__(detail)
        self.slug = slug
        self.type = TYPES[slug]
        self.detail = detail
        self.extensions = extensions
        self.headers = dict(headers or {})
        if self.type.retryable:
            self.headers.setdefault("Retry-After", str(RETRY_AFTER_SECONDS))

    def document(self, instance: str) -> dict[str, Any]:
        """The problem document for the request at `instance`."""
        return {
            "type": f"urn:flagfall:problem:{self.slug}",
            "title": self.type.title,
            "status": self.type.status,
            "detail": self.detail,
            "instance": instance,
            "retryable": self.type.retryable,
            "trace_id": trace_now().id,
            **self.extensions,
        }

    def response(self, request: web.Request) -> web.Response:
        """The answer to send."""
        body = orjson.dumps(self.document(request.path_qs))
        return web.Response(body=body, status=self.type.status, content_type=MEDIA_TYPE, headers=self.headers)


def bad_parameter(name: str, value: str, allowed: str) -> Problem:
    """A parameter that cannot be used: which, what it said, what it may say."""
    return Problem("bad-parameter", f"{name}={value}: {allowed}", parameter=name, value=value, allowed=allowed)


@web.middleware
async def problem_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Whatever goes wrong leaves as a problem; what nobody foresaw is logged here and not shown."""
    trace = begin_trace(request.headers.get(TRACE_HEADER))
    try:
        return await handler(request)
    except Problem as problem:
        return problem.response(request)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return _from_http(error, request).response(request)
    except Exception:
        log.exception("unexpected failure while answering %s %s, trace %s", request.method, request.path, trace.id)
        detail = f"An unexpected failure; the worker's log has the cause, under trace {trace.id}. Nothing was changed."
        return Problem("internal-error", detail).response(request)


def _from_http(error: web.HTTPException, request: web.Request) -> Problem:
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        detail = f"{request.path} takes {allowed}, not {request.method}."
        return Problem("method-not-allowed", detail, headers={"Allow": allowed})
    if isinstance(error, web.HTTPNotFound):
        return Problem("not-found", f"There is nothing at {request.path}; /openapi.json lists what there is.")
    return Problem("bad-request", error.reason)
