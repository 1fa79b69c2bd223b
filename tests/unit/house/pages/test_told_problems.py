"""Every problem that a route may answer with stands in the API document, under its status, and nothing else does."""

from __future__ import annotations

from app.edge.http.documents.openapi import api_document
from app.edge.http.entry.security import INTERNAL
from app.edge.http.problems import TYPES
from app.edge.http.route import Route
from app.edge.http.routes.every_route import ROUTES
from app.rides.views import ZONE_DEMAND

OF_ANY = {"bad-request", "other-host"}
OF_KEYS = {"no-key", "not-allowed", "too-often"}
OF_GATES = {"busy", "too-slow"}
OF_TAKING = {
    *("unknown-topic", "too-large", "not-taken-so", "refused-records", "key-reused", "too-many-records"),
    *("no-schema", "not-confirmed", "not-ready", "not-taken"),
}
OF_HISTORY = {"not-in-history", "history-unreadable"}
OF_TASKS = {"not-ready", "partitions-missing"}
OF_ROUTE = {
    "static": {"not-found"},
    "view": OF_TASKS,
    "rows": OF_TASKS | OF_HISTORY | {"bad-cursor", "not-acceptable", "not-reached", "too-much"},
    "changes": OF_TASKS | {"not-in-history", "not-acceptable", "too-much", "too-many-streams"},
    "evidence": OF_TASKS | {"unknown-row", "not-in-history", "bad-cursor", "too-much", "no-broker"},
    "export": OF_TASKS | {"too-many-exports"},
    "topic_results": {"unknown-topic", "bad-cursor", "no-broker"},
    "sql": OF_TASKS | {"bad-statement", "not-acceptable", "too-large", "not-taken-so", "too-much", "statement-ended"},
    "topic": {"unknown-topic", "no-broker"},
    "records": OF_TAKING,
    "rides": OF_TAKING,
    "tasks": OF_TASKS,
    "run": {"unknown-run"},
    "run_page": {"unknown-run"},
    "page": {"not-ready"},
    "livez": {"stalled"},
    "readyz": {"not-ready"},
    "own_tasks": {"not-ready"},
    "parts": {"not-ready", "too-much"},
    "own_intake": OF_TAKING,
    "own_tables": {"not-ready", "unknown-view", "too-much"},
}
"""By the routes' names; of a route that is not here there are those alone that routes of its kind have."""
EVERYWHERE = {"unknown-view", "method-not-allowed", "bad-parameter", "internal-error"}
"""Of other addresses and methods than the document tells, of parameters (a `bad-request` to it), and of no foreseen
cause."""


def problems_of(route: Route) -> set[str]:
    """All of them."""
    of_address = set() if route.path.startswith(INTERNAL) else {"too-long"}
    of_keys = OF_KEYS if route.scope is not None else set()
    of_gates = OF_GATES if route.gate is not None else set()
    return OF_ANY | of_address | of_keys | of_gates | OF_ROUTE.get(route.name, set())


def test_every_route_tells_of_the_problems_that_it_may_answer_with() -> None:
    paths = api_document(ROUTES, [ZONE_DEMAND])["paths"]
    for route in ROUTES:
        told = paths[route.path.replace("{view}", ZONE_DEMAND.name)][route.method.lower()]["responses"]
        expected = {str(TYPES[slug].status) for slug in problems_of(route)}
        assert {status for status in told if status >= "400" and status.isdigit()} == expected, route.name


def test_every_problem_is_one_of_some_route() -> None:
    assert {slug for route in ROUTES for slug in problems_of(route)} | EVERYWHERE == TYPES.keys()


def test_rows_that_the_caller_has_already_are_told_of() -> None:
    rows = api_document(ROUTES, [ZONE_DEMAND])["paths"]["/v1/views/zone_demand/rows"]["get"]["responses"]
    assert rows["304"]["headers"].keys() == {"ETag"}
