"""JSON schemas of what the API answers; a view's row is written from its definition."""

from __future__ import annotations

from typing import Any

from app.base.files.verdicts import Verdict
from app.domain.figures.contract import Figure
from app.domain.measures.contract import Shown
from app.domain.source import Kind
from app.domain.view import View
from app.edge.http.problems import TYPES
from app.edge.http.rows.answers import SOURCES, STATES
from app.rides.zones import ZONE_COLUMNS

Schema = dict[str, Any]
INTEGER: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
WANTED = "Those that the parameter measures names, all without it."
INSTANT: Schema = {"type": "string", "format": "date-time"}


def record(properties: Schema, *, optional: tuple[str, ...] = ()) -> Schema:
    """An object with these members, required unless named."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def nullable(schema: Schema) -> Schema:
    """The schema, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def row(view: View) -> Schema:
    """A row of the view."""
    window = record({"start": INSTANT, "end": INSTANT})
    return record(
        {
            "window": window if view.window.ends else {"type": "null"},
            "rank": INTEGER | {"minimum": 1, "description": "Where top is asked for."},
            "group": _some(_group(view), "Those that group_by keeps, all without it."),
            "measures": _some({shown.name: _shown(shown) for shown in view.shown}, WANTED),
            "figures": _some({figure.name: _figure(figure) for figure in view.figures}, WANTED),
            "count": INTEGER | {"description": "Records applied."},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
            "state": {"enum": list(STATES)},
            "final": {
                "type": "boolean",
                "description": "Closed, stored as it is shown, not corrected: never of folded panes or merged groups.",
            },
            "source": {
                "enum": list(SOURCES),
                "description": "The tables; the history, as a reconciliation found it right; or panes of both.",
            },
        },
        optional=("rank", *(() if view.figures else ("figures",))),
    ) | {"description": view.help}


def _some(properties: Schema, which: str) -> Schema:
    """An object with some of these members."""
    return record(properties, optional=tuple(properties)) | {"description": which, "additionalProperties": False}


def _figure(figure: Figure) -> Schema:
    told = {"description": figure.help}
    if figure.is_number:
        return nullable({"type": "number"}) | told
    return nullable(record({"from": nullable(INTEGER), "to": nullable(INTEGER)})) | told


def _group(view: View) -> Schema:
    told: Schema = {}
    for group in view.groups:
        column = view.source.by_name[group.column]
        told[group.name] = nullable(TEXT if column.kind is Kind.TEXT else INTEGER) | {"description": column.help}
        if group.column in ZONE_COLUMNS:
            told |= {f"{group.name}_name": nullable(TEXT), f"{group.name}_borough": nullable(TEXT)}
    return told


def _shown(shown: Shown) -> Schema:
    told, cells = {"description": shown.help}, len(shown.cells)
    if shown.is_list:
        return {"type": "array", "items": INTEGER, "minItems": cells, "maxItems": cells} | told
    return (INTEGER if shown.unless_zero is None else nullable(INTEGER)) | told


def by_topic_partition(schema: Schema) -> Schema:
    """An object with such a member for each topic-partition."""
    return {"type": "object", "additionalProperties": schema, "description": "By topic-partition."}


NAMES = record({"topic": TEXT, "next_offset": nullable(INTEGER), "why": nullable(TEXT)})
"""Which state of their topic the names of zones are of."""

_RECONCILED = record(
    {
        "run": TEXT,
        "verdict": {"enum": [one.value for one in Verdict]},
        "final_to": nullable(INSTANT),
        "windows": nullable(record({"from": nullable(INSTANT), "to": nullable(INSTANT)})),
    }
)
_META: Schema = {
    "view": TEXT,
    "version": TEXT,
    "as_of": nullable(INSTANT) | {"description": "Lowest watermark; null if a partition is missing or still empty."},
    "held_back_by": {
        "type": "array",
        "items": TEXT,
        "description": "Topic-partitions of the lowest watermark, or without one, while others are ahead; at most ten.",
    },
    "position": by_topic_partition(INTEGER),
    "token": TEXT | {"description": "The position as the parameter min_position takes it."},
    "watermark": by_topic_partition(nullable(INSTANT)),
    "lag_records": by_topic_partition(nullable(INTEGER)),
    "left_before": nullable(INSTANT)
    | {"description": "Windows that begin before it have left the tables of some task; null if none has."},
    "history": nullable(record({"run": TEXT, "final_to": INSTANT}))
    | {
        "description": "Where windows that begin before `left_before` were answered from, and by which reconciliation "
        "they were found right; null if the answer has none of them."
    },
    "reconciled": nullable(_RECONCILED)
    | {
        "description": "What the last reconciliation found of the view; windows that end by `final_to` were closed at "
        "its cut. `windows`: the only ones that were compared, null for all. Null if this worker knows of none that "
        "compared the view as it is now."
    },
    "stale": {
        "type": "array",
        "items": record({"partition": INTEGER, "seconds": {"type": "number"}}),
        "description": "With max_staleness: partitions of which something may have come since, so long ago at most.",
    },
    "partial": {"type": "boolean"},
    "missing": {
        "type": "array",
        "items": record({"partition": INTEGER, "owner": nullable(TEXT), "why": TEXT}),
    },
    "zones": NAMES
    | {"description": "The state of the topic that zone names are from; next_offset is null while there are none."},
}

_PROGRESS = record({"done_offsets": INTEGER, "all_offsets": INTEGER})
_AWAITED = record({"id": INTEGER, "since": INSTANT, "why": TEXT})
_GROUP = record(
    {
        "standing": TEXT,
        "tasks": {"type": "array", "items": INTEGER},
        "partitions": INTEGER,
        "recovering": {
            "type": "object",
            "additionalProperties": _PROGRESS,
            "description": "By partition, of tasks that are being taken over.",
        },
        "building": {
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": _PROGRESS},
            "description": "By partition and view, of views that read the log again because they are new.",
        },
        "standby": {
            "type": "object",
            "additionalProperties": INTEGER,
            "description": "By partition: below which changelog offset a task of another worker is held here.",
        },
    }
)

_TASK = record(
    {
        "group": TEXT,
        "sources": {"type": "array", "items": TEXT},
        "partition": INTEGER,
        "owner": nullable(TEXT),
        "state": {"enum": ["live", "building", "missing"]},
        "why": TEXT | {"description": "Why it could not be had; such a task has nothing of what follows."},
        "as_of": nullable(INSTANT) | {"description": "Lowest watermark of its inputs; null while one is empty."},
        "position": by_topic_partition(INTEGER),
        "watermark": by_topic_partition(nullable(INSTANT)),
        "lag_records": by_topic_partition(nullable(INTEGER)),
        "sequence": INTEGER,
        "changelog_offset": INTEGER,
        "building": {
            "type": "object",
            "additionalProperties": _PROGRESS,
            "description": "By view, of views that read the log again because they are new.",
        },
    },
    optional=(
        "why",
        "as_of",
        "position",
        "watermark",
        "lag_records",
        "sequence",
        "changelog_offset",
        "building",
    ),
)

SHARED: Schema = {
    "Problem": record(
        {
            "type": {"enum": [f"urn:flagfall:problem:{slug}" for slug in TYPES]},
            "title": TEXT,
            "status": INTEGER,
            "detail": TEXT,
            "instance": TEXT,
            "retryable": {"type": "boolean"},
            "trace_id": TEXT,
        }
    ),
    "RowsMeta": record(_META | {"next_cursor": nullable(TEXT)}),
    "View": record(
        {
            "name": TEXT,
            "version": TEXT,
            "help": TEXT,
            "source": {"type": "object"},
            "groups": {"type": "array", "items": {"type": "object"}},
            "window": {"type": "object"},
            "grace_seconds": INTEGER,
            "retention_seconds": INTEGER,
            "measures": {"type": "array", "items": {"type": "object"}},
            "figures": {"type": "array", "items": {"type": "object"}},
            "rules": {"type": "array", "items": {"type": "object"}},
            "links": {"type": "object"},
        }
    ),
    "Views": record({"data": {"type": "array", "items": {"$ref": "#/components/schemas/View"}}}),
    "ViewState": {
        "allOf": [
            {"$ref": "#/components/schemas/View"},
            record({"partitions": {"type": "array", "items": {"type": "object"}}, "meta": record(_META)}),
        ]
    },
    "Tasks": record({"data": {"type": "array", "items": _TASK}, "meta": record({"partial": {"type": "boolean"}})}),
    "Parts": {"type": "array", "items": {"type": "object"}},
    "Alive": record({"live": {"type": "boolean"}, "standing": TEXT}),
    "Ready": record(
        {
            "ready": {"type": "boolean"},
            "groups": {"type": "object", "additionalProperties": _GROUP},
            "awaited_schemas": record({"count": INTEGER, "longest": {"type": "array", "items": _AWAITED}})
            | {"description": "Schema ids that tasks wait for, as the registry has not answered about them yet."},
        }
    ),
    "Any": {"type": "object"},
}
