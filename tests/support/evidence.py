"""The records behind a row, as a worker tells them page by page."""

from __future__ import annotations

from typing import Any, NamedTuple

from app.domain.view import View
from tests.support.machine.workers import Worker


class Evidence(NamedTuple):
    """All records of a row, and the meta of the last page."""

    records: list[dict[str, Any]]
    meta: dict[str, Any]


def evidence_of(
    started: Worker, view: View, row: dict[str, Any], limit: int = 7, *, to_the_end: bool = False
) -> Evidence:
    """As a client asks for it that holds a row of an answer."""
    asked = {g.name: "null" if (value := row["group"][g.name]) is None else str(value) for g in view.groups}
    if row["window"] is not None:
        asked["from"] = row["window"]["start"]
    if to_the_end:
        asked["to_the_end"] = "true"
    records, cursor = list[dict[str, Any]](), {}
    while True:
        answer = started.get(f"/v1/views/{view.name}/evidence", **asked, **cursor, limit=limit)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        records += page["data"]
        if page["meta"]["next_cursor"] is None:
            return Evidence(records, page["meta"])
        cursor = {"cursor": page["meta"]["next_cursor"]}
