"""JSON schemas of records that callers bring, and of what they are told."""

from __future__ import annotations

from app.edge.http.documents.schemas import INTEGER, TEXT, Schema, record
from app.edge.http.intake.brought import MOST_RECORDS

_OFFSET = INTEGER | {"minimum": 0}
BROUGHT: Schema = {
    "description": f"A record, a list of them, or one a line; {MOST_RECORDS:,} at most. The registry has their schema.",
    "anyOf": [{"type": "object"}, {"type": "array", "minItems": 1, "maxItems": MOST_RECORDS}, {"type": "string"}],
}
TAKEN = record(
    {
        "topic": TEXT,
        "written": INTEGER | {"minimum": 1},
        "refused": _OFFSET,
        "records": {
            "type": "array",
            "description": "As they came: where each stands, or why it was refused.",
            "items": {"oneOf": [record({"partition": _OFFSET, "offset": _OFFSET}), record({"refused": TEXT})]},
        },
        "position": {
            "type": "object",
            "description": "Next offsets, as min_position takes them: an answer that covers it has these records.",
            "additionalProperties": INTEGER,
        },
    }
)
