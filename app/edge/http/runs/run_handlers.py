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
    text, allowed = await edge_of(request).long_work.run(True, _page, file)
    return web.Response(text=text, content_type="text/html", headers={"Content-Security-Policy": allowed})


def report_page_address(edge: Edge, run_id: str) -> str | None:
    """Where the page of a run is, if there is one that can be asked for."""
    try:
        known = _trail(edge).run(edge.verdicts.application, run_id)
    except TrailBroken:
        return None
    there = known is not None and (edge.verdicts.runs / run_id / PAGE).is_file()
    return f"/v1/reconciliation/{run_id}/page" if there else None


async def _file(request: web.Request, name: str) -> Path:
    """A file of the run in the path, as the run wrote it: of the runs alone that the trail names, so of nothing else in
    the file system."""
    read_no_parameters(request)
    edge, run_id = edge_of(request), request.match_info["run"]
    try:
        return await edge.long_work.run(True, _found, edge, run_id, name)
    except TrailBroken as error:
        raise _broken(error) from error


def _found(edge: Edge, run_id: str, name: str) -> Path:
    trail = _trail(edge)
    entry = trail.run(edge.verdicts.application, run_id)
    if entry is None:
        raise Problem("unknown-run", f"The trail of {edge.verdicts.application} knows no run {run_id!r}.")
    file = edge.verdicts.runs / entry.run.run_id / name
    if not file.is_file():
        raise Problem("unknown-run", f"{name} of run {run_id} is not there any more.")
    if not trail.is_as_written(entry, name):
        raise TrailBroken(f"{file} is not the file that run {run_id} wrote: its hash is another")
    return file


def _page(file: Path) -> tuple[str, str]:
    """The page, and the policy that allows its own style sheet and nothing else."""
    text = file.read_text("utf-8")
    sheets = (hashlib.sha256(one.encode()).digest() for one in re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    return text, policy(" ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in sheets) or "'none'")


def _trail(edge: Edge) -> Trail:
    return Trail(edge.verdicts.runs)


def _document(entry: TrailEntry) -> dict[str, Any]:
    address = f"/v1/reconciliation/{entry.run.run_id}"
    links = {"report": address, "page": f"{address}/page"}
    return {"sequence": entry.sequence, **entry.run.model_dump(mode="json"), "links": links}


def _broken(error: TrailBroken) -> Problem:
    log.error("%s", error)
    return Problem("internal-error", "What runs have left does not hold together: `flagfall audit verify` says where.")
