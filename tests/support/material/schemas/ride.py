"""The ride's own schema, and the same with a field otherwise or less."""

from __future__ import annotations

from typing import Any

from app.codecs.avro.record_schema import record_schema
from app.rides.ride import RIDES

OWN = record_schema(RIDES)


def with_type(name: str, avro_type: Any) -> dict[str, Any]:
    return {**OWN, "fields": [f | {"type": avro_type} if f["name"] == name else f for f in OWN["fields"]]}


def without(*names: str) -> dict[str, Any]:
    return {**OWN, "fields": [field for field in OWN["fields"] if field["name"] not in names]}
