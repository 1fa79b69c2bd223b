"""What the last reconciliation that compared a view found of it, for those who read its rows."""

from __future__ import annotations

from typing import Any

from app.base.files.verdicts import Checked
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.domain.windows.scope import Scope
from app.edge.http.context import Edge
from app.edge.http.query.instants import watermark_text


def reconciled_document(edge: Edge, view: View) -> dict[str, Any] | None:
    """None where no run has compared the view as it is defined now."""
    checked: Checked | None = edge.verdicts.last_known().get(view.name)
    found = None if checked is None else checked.finished
    if found is None or found.final_to_us is None or found.version != view.version:
        return None
    return {
        "run": found.run_id,
        "verdict": found.verdict.value,
        "final_to": watermark_text(found.final_to_us),
        "windows": _stretch_document(found.scope),
    }


def _stretch_document(scope: Scope | None) -> dict[str, str | None] | None:
    """Outside of which the run compared nothing; None where it, and those before it, compared all."""
    if scope is None or not scope.is_a_stretch:
        return None
    return {end: None if us is None else to_iso(us) for end, us in (("from", scope.from_us), ("to", scope.to_us))}
