"""Runs of `flagfall reconcile` on this machine: what each of them found, and its reports as it wrote them."""

from __future__ import annotations

import base64
import hashlib
import logging
import re
from pathlib import Path
from typing import Any

from aiohttp import hdrs, web

from app.base.files.trail import Trail, TrailBroken, TrailEntry
from app.edge.http.context import Edge, edge_of
from app.edge.http.entry.security import policy
from app.edge.http.problems import Problem, bad_parameter
from app.edge.http.query.parameters import whole_number
from app.edge.http.query.read_query import read_no_parameters
from app.edge.http.responses import json_response

DEFAULT_RUNS, MAX_RUNS = 20, 100
"""Of an answer."""
REPORT, PAGE = "report.json", "report.html"

log = logging.getLogger(__name__)


async def list_runs(request: web.Request) -> web.Response:
    """The application's last runs, newest first, as `trail.jsonl` in this worker's data directory tells them."""
    edge = edge_of(request)
    for name in request.query:
        if name != "limit":
            raise bad_parameter(name, request.query[name], "unknown; there is limit")
    limit = whole_number(request.query, "limit", MAX_RUNS) or DEFAULT_RUNS
    try:
        runs = await edge.long_work.run(True, _trail(edge).newest, limit, edge.verdicts.application)
    except TrailBroken as error:
        raise _broken(error) from error
    return json_response({"data": [_document(entry) for entry in runs]})


async def show_report(request: web.Request) -> web.StreamResponse:
    """The report of a run for programs; docs/reconciliation.md lists its fields."""
    file = await _file(request, REPORT)
    return web.FileResponse(file, headers={hdrs.CONTENT_TYPE: "application/json"})


async def show_page(request: web.Request) -> web.Response:
    """The report of a run for readers."""
    file = await _file(request, PAGE)
    text = await edge_of(request).long_work.run(True, file.read_text, "utf-8")
    return web.Response(text=text, content_type="text/html", headers={"Content-Security-Policy": policy(_style(text))})


def report_page_address(edge: Edge, run_id: str) -> str | None:
    """Where the page of a run is, if there is one."""
    return f"/v1/reconciliation/{run_id}/page" if (edge.verdicts.runs / run_id / PAGE).is_file() else None


async def _file(request: web.Request, name: str) -> Path:
    """A file of the run in the path: of those alone that the trail names, so of nothing else in the file system."""
    read_no_parameters(request)
    edge, run_id = edge_of(request), request.match_info["run"]
    try:
        entry = await edge.long_work.run(True, _trail(edge).run, edge.verdicts.application, run_id)
    except TrailBroken as error:
        raise _broken(error) from error
    if entry is None:
        raise Problem("unknown-run", f"The trail of {edge.verdicts.application} knows no run {run_id!r}.")
    file = edge.verdicts.runs / entry.run.run_id / name
    if not file.is_file():
        raise Problem("unknown-run", f"{name} of run {run_id} is not there any more.")
    return file


def _trail(edge: Edge) -> Trail:
    return Trail(edge.verdicts.runs)


def _document(entry: TrailEntry) -> dict[str, Any]:
    address = f"/v1/reconciliation/{entry.run.run_id}"
    links = {"report": address, "page": f"{address}/page"}
    return {"sequence": entry.sequence, **entry.run.model_dump(mode="json"), "links": links}


def _broken(error: TrailBroken) -> Problem:
    log.error("%s", error)
    return Problem("internal-error", "The trail of runs does not hold together: `flagfall audit verify` says where.")


def _style(page: str) -> str:
    """What allows the page's own style sheet and no other."""
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"'sha256-{digest}'"
