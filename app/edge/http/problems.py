"""Every error as a problem document of RFC 9457; the types are listed in docs/http.md.

raise Problem("bad-parameter", "limit=0: 1 to 10000", parameter="limit")
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import orjson
from aiohttp import web

from app.base.printable import printable
from app.base.traces import HEADER as TRACE_HEADER
from app.base.traces import begin_trace, trace_now

MEDIA_TYPE = "application/problem+json"
WORKERS_OWN = 500
"""From this status on it is no fault of the caller's."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logging.getLogger(__name__)


class ProblemType(NamedTuple):
    """What all problems of a type share. `retryable`: the same request may succeed later. `level`: of its line in the
    log, if it is the worker's and not the caller's."""

    status: int
    title: str
    retryable: bool = False
    level: int = logging.WARNING


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
    "not-taken-so": ProblemType(415, "What was sent is of a kind that is not taken"),
    "other-host": ProblemType(421, "The request is for another host"),
    "too-much": ProblemType(422, "The answer takes more rows than one request may"),
    "refused-records": ProblemType(422, "None of the records can be taken"),
    "key-reused": ProblemType(422, "The idempotency key stands for another request"),
    "too-many-exports": ProblemType(429, "The worker gives as many exports as it may", retryable=True),
    "too-many-streams": ProblemType(429, "The worker has as many open streams as it may", retryable=True),
    "too-many-records": ProblemType(429, "The worker has as many records in hand as it may", retryable=True),
    "too-often": ProblemType(429, "The caller asks more often than it may", retryable=True),
    "history-unreadable": ProblemType(500, "What the history has of these windows cannot be read", level=logging.ERROR),
    "internal-error": ProblemType(500, "The worker failed to answer", level=logging.ERROR),
    "busy": ProblemType(503, "The worker has as many requests as it takes", retryable=True, level=logging.INFO),
    "not-ready": ProblemType(503, "The worker cannot answer now", retryable=True, level=logging.INFO),
    "no-broker": ProblemType(503, "The brokers do not answer", retryable=True),
    "no-schema": ProblemType(503, "The topic's schema cannot be had", retryable=True),
    "not-confirmed": ProblemType(503, "It is not known whether the records were written", retryable=True),
    "not-reached": ProblemType(503, "The tables do not cover the position yet", retryable=True, level=logging.INFO),
    "statement-ended": ProblemType(503, "The process of the statement was ended", retryable=True),
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

    def answer(self, instance: str) -> web.Response:
        """To send for the request at `instance`."""
        body = orjson.dumps(self.document(instance))
        return web.Response(body=body, status=self.type.status, content_type=MEDIA_TYPE, headers=self.headers)


SAID: web.ResponseKey[Problem] = web.ResponseKey("said", Problem)
"""Under which an answer that is no problem document holds the Problem that it is."""


def bad_parameter(name: str, value: str, allowed: str) -> Problem:
    """A parameter that cannot be used: which, what it said, what it may say."""
    return Problem("bad-parameter", f"{name}={value}: {allowed}", parameter=name, value=value, allowed=allowed)


def without_document(problem: Problem, answer: web.Response) -> web.Response:
    """The answer as that problem, which says in its own words, to people, what a document would."""
    answer.set_status(problem.type.status)
    answer.headers.update(problem.headers)
    answer[SAID] = problem
    return answer


@web.middleware
async def problem_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Whatever goes wrong leaves as a problem; one of the worker's is logged here, with what nobody foresaw behind it,
    which is not shown."""
    trace = begin_trace(request.headers.get(TRACE_HEADER))
    try:
        response = await handler(request)
    except Problem as problem:
        return _refused(request, problem)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return _refused(request, _from_http(error, request))
    except Exception as error:
        detail = f"An unexpected failure; the worker's log has the cause, under trace {trace.id}. Nothing was changed."
        return _refused(request, Problem("internal-error", detail), error)
    if (said := response.get(SAID)) is not None:
        _tell_of(request, said)
    elif response.status >= WORKERS_OWN:
        _tell(request, response.status, "sent-on", logging.WARNING, "Another worker's answer, whose log says more.")
    return response


def address_of(request: web.BaseRequest) -> str:
    """As it was asked, where aiohttp's own puts two slashes more before one that begins with two."""
    return request.rel_url.raw_path_qs


def _refused(request: web.Request, problem: Problem, cause: Exception | None = None) -> web.Response:
    _tell_of(request, problem, cause)
    return problem.answer(address_of(request))


def _tell_of(request: web.Request, problem: Problem, cause: Exception | None = None) -> None:
    if problem.type.status >= WORKERS_OWN:
        _tell(request, problem.type.status, problem.slug, problem.type.level, problem.detail, cause)


def _tell(
    request: web.Request, status: int, problem: str, level: int, detail: str, cause: Exception | None = None
) -> None:
    """One line, of a kind for each route and problem: lines of a kind are folded where there are many."""
    resource, method, trace_id = request.match_info.route.resource, request.method, trace_now().id
    route = "unmatched" if resource is None else resource.canonical
    kind = f"{status} {problem} at {route}".replace("%", "%%")
    facts = {"trace_id": trace_id, "method": method, "route": route, "status": status, "problem": problem}
    told = (method, request.rel_url.raw_path, trace_id, printable(detail))
    log.log(level, f"{kind}: %s %s, trace %s: %s", *told, exc_info=cause, extra=facts)


def _from_http(error: web.HTTPException, request: web.Request) -> Problem:
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        detail = f"{request.path} takes {allowed}, not {request.method}."
        return Problem("method-not-allowed", detail, headers={"Allow": allowed})
    if isinstance(error, web.HTTPNotFound):
        return Problem("not-found", f"There is nothing at {request.path}; /openapi.json lists what there is.")
    return Problem("bad-request", error.reason)
