"""JSON schema of the records behind a row."""

from __future__ import annotations

from app.edge.http.documents.schemas import INSTANT, INTEGER, TEXT, by_topic_partition, nullable, record

_RECORD = record(
    {
        "topic": TEXT,
        "partition": INTEGER,
        "offset": INTEGER,
        "timestamp": INSTANT,
        "added": {"type": "boolean", "description": "Whether a correction brought it in."},
        "values": {"type": "object", "description": "Its columns; instants as text."},
    }
)
_THE_ONE = nullable(record({"topic": TEXT, "partition": INTEGER, "offset": INTEGER})) | {
    "description": "Where it stands or stood, if it is one."
}
_MISSING = record(
    {
        "count": INTEGER,
        "record": _THE_ONE,
        "logs_begin": by_topic_partition(INTEGER)
        | {"description": "First offsets of logs that have lost what may have been of the row."},
    }
)
EVIDENCE = record(
    {
        "data": {"type": "array", "items": _RECORD},
        "meta": record(
            {
                "view": TEXT,
                "version": TEXT,
                "row": {
                    "type": "object",
                    "description": "As rows are answered, at position.",
                },
                "position": by_topic_partition(INTEGER),
                "found": record({"count": INTEGER, "fingerprint": TEXT})
                | {"description": "Of the records of this page and those before it."},
                "searched_to_the_end": {
                    "type": "boolean",
                    "description": "Whether all was looked at where records of the row may stand.",
                },
                "agrees": nullable({"type": "boolean"})
                | {
                    "description": "Whether the fold of what was found is the row, cell by cell; null while there is a "
                    "next page, and where the topics cannot tell any more."
                },
                "missing": nullable(_MISSING) | {"description": "What could not be found."},
                "lacks": nullable(record({"count": INTEGER, "record": _THE_ONE}))
                | {"description": "What belongs to the row, and is not in it."},
                "offsets_read": INTEGER,
                "next_cursor": nullable(TEXT),
            }
        ),
    }
)
