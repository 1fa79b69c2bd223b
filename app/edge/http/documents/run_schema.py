"""JSON schema of the list of runs; a run's own report has one of its own (docs/reconciliation.md)."""

from __future__ import annotations

from app.base.files.verdicts import Verdict
from app.edge.http.documents.schemas import INSTANT, INTEGER, TEXT, nullable, record

_VERDICT = {"enum": [verdict.value for verdict in Verdict]}
_SCOPE = record({"from_us": nullable(INTEGER), "to_us": nullable(INTEGER), "since_run": nullable(TEXT)})
_RUN = record(
    {
        "sequence": INTEGER | {"description": "Its line in the trail."},
        "run_id": TEXT,
        "application": TEXT,
        "started": INSTANT,
        "finished": INSTANT,
        "verdict": _VERDICT,
        "residual": nullable(INTEGER) | {"description": "What no listed record explains; null without a verdict."},
        "reason": nullable(TEXT) | {"description": "Why there is no verdict on the figures."},
        "scope": nullable(_SCOPE) | {"description": "Rows of which windows were compared; null for all."},
        "views": {
            "type": "object",
            "additionalProperties": _VERDICT,
            "description": "Of views, joins and alerts that were compared.",
        },
        "links": record({"report": TEXT, "page": TEXT}),
    }
)
RUNS = record({"data": {"type": "array", "items": _RUN}})
