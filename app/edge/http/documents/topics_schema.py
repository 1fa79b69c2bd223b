"""JSON schemas of the application's topics."""

from __future__ import annotations

from app.base.kafka.group_members import DEAD
from app.edge.http.documents.schemas import INTEGER, TEXT, Schema, nullable, record

_OFFSET = INTEGER | {"minimum": 0}
_DECLARED: Schema = {
    "topic": TEXT,
    "help": TEXT,
    "key": TEXT | {"description": "What a record's key is."},
    "value": TEXT | {"description": "What its value is."},
    "subject": nullable(TEXT) | {"description": "Where the registry has the value's schema."},
    "takes_records": {"type": "boolean", "description": "Whether it takes records over HTTP."},
}
_TASK = record({"partition": _OFFSET, "next_offset": nullable(_OFFSET), "lag_records": nullable(_OFFSET)})
_STATE = TEXT | {"description": f"In Kafka's words, as stable or empty; {DEAD}: it knows no such group."}
_BROKERS: Schema = {"type": "array", "items": INTEGER}
_COPIES: Schema = {
    "leader": nullable(INTEGER) | {"description": "The id of the broker that leads it; null where none does."},
    "replicas": _BROKERS | {"description": "Of those that have a copy, the preferred leader first."},
    "in_sync_replicas": _BROKERS | {"description": "Of those whose copy has all of it."},
}
OF_TOPICS: Schema = {
    "Topics": record({"data": {"type": "array", "items": record(_DECLARED)}}),
    "Topic": record(
        _DECLARED
        | {
            "replication_factor": INTEGER | {"description": "Of the partition that has fewest."},
            "settings": {"type": "object", "additionalProperties": nullable(TEXT)},
            "partitions": {
                "type": "array",
                "items": record({"partition": _OFFSET, "start": _OFFSET, "end": _OFFSET, **_COPIES}),
                "description": "The first offset that is there, and where what is committed ends; who has it.",
            },
            "readers": {
                "type": "array",
                "items": record({"group": TEXT, "tasks": {"type": "array", "items": _TASK}}),
                "description": "Task groups that read it.",
            },
            "groups": {
                "type": "array",
                "items": record({"group": TEXT, "state": _STATE, "partitions": {"type": "array", "items": _TASK}}),
                "description": "Consumer groups that were asked for; null where one has committed nothing.",
            },
        }
    ),
}
