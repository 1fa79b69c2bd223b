"""docs/http.md lists what the code has: problem types, routes, parameters, metrics."""

from __future__ import annotations

import re
from pathlib import Path

from app.edge.http.documents.openapi import SHARED
from app.edge.http.problems import TYPES
from app.edge.http.query.parameters import ARRANGED, COMMON, FOLDED, FORMAT, MIN_POSITION, WAIT, WINDOWED
from app.edge.http.route import ROWS
from app.edge.http.routes.every_route import ROUTES

PAGE = (Path(__file__).parents[4] / "docs" / "http.md").read_text("utf-8")


def test_the_table_of_problems_is_the_one_in_the_code() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", PAGE, re.MULTILINE)
    assert listed == [(slug, str(type_.status)) for slug, type_ in TYPES.items()]


def test_every_route_and_parameter_is_described() -> None:
    for route in ROUTES:
        assert f"`{route.path}" in PAGE or route.name == "static", route.path
    for parameter in (*COMMON, *WINDOWED, *FOLDED, *ARRANGED, FORMAT, MIN_POSITION, WAIT):
        assert f"`{parameter}`" in PAGE, parameter


def test_every_answer_has_a_schema() -> None:
    assert {route.answer for route in ROUTES} <= {ROWS, *SHARED}
