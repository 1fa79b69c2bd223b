"""JSON schemas of what tasks have published."""

from __future__ import annotations

from app.edge.http.documents.schemas import INSTANT, INTEGER, TEXT, by_topic_partition, nullable, record
from app.edge.published.result_topic import ALERTS, FINALS, JOINED

_TOPIC = {
    "topic": TEXT,
    "kind": {"enum": [FINALS, JOINED, ALERTS]},
    "of": TEXT | {"description": "The view, join or alert that they are of."},
    "help": TEXT,
}
_RESULT = record(
    {
        "partition": INTEGER,
        "offset": INTEGER,
        "timestamp": INSTANT,
        "values": nullable({"type": "object"})
        | {"description": "As docs/formats.md has it: finals as they stand, of Avro instants as text."},
        "unreadable": nullable(TEXT) | {"description": "Why."},
    }
)
_PUBLISHED = record({"data": {"type": "array", "items": record(_TOPIC)}})
_RESULTS = record(
    {
        "data": {"type": "array", "items": _RESULT},
        "meta": record(
            _TOPIC
            | {
                "position": by_topic_partition(INTEGER) | {"description": "Below which offsets the page ends."},
                "next_cursor": nullable(TEXT),
            }
        ),
    }
)
OF_RESULTS = {"Published": _PUBLISHED, "Results": _RESULTS}
