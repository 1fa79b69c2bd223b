"""An event of a stream of changes, as the API document tells it; the stream is a sequence of them."""

from __future__ import annotations

from app.edge.http.changes.framed import CHANGES, GAP, PROBLEM, SAME, SNAPSHOT
from app.edge.http.documents.schemas import Schema

EVENT: Schema = {
    "type": "object",
    "description": "Of each event, by the fields of text/event-stream; `data` is a JSON document.",
    "properties": {
        "event": {"type": "string", "enum": [SNAPSHOT, CHANGES, SAME, GAP, PROBLEM]},
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
