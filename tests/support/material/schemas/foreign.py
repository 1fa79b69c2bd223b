"""What else a registry may hold: schemas of other kinds and other records, which no worker can read as a ride."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from app.base.settings import Settings
from app.rides.ride import avro_schema


def with_type(name: str, avro_type: Any) -> dict[str, Any]:
    """A ride's schema with another type for one of its fields."""
    fields = [field | {"type": avro_type} if field["name"] == name else field for field in avro_schema()["fields"]]
    return {**avro_schema(), "fields": [{"name": field["name"], "type": field["type"]} for field in fields]}


FOREIGN: Mapping[str, Schema] = {
    "text": Schema('"string"', "AVRO"),
    "number": Schema('"long"', "AVRO"),
    "instant as text": Schema(json.dumps(with_type("pickup_at_us", "string")), "AVRO"),
    "amount as bytes": Schema(json.dumps(with_type("total_cents", "bytes")), "AVRO"),
    "another record": Schema('{"type": "record", "name": "Tip", "fields": [{"name": "a", "type": "int"}]}', "AVRO"),
    "protobuf": Schema('syntax = "proto3"; message Ride { string id = 1; }', "PROTOBUF"),
    "json schema": Schema('{"type": "object", "properties": {"id": {"type": "string"}}}', "JSON"),
}


def encode_as(schema_id: int, declared: Mapping[str, Any], values: Mapping[str, Any]) -> bytes:
    """Values as a writer of this schema would send them."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(dict(declared)), values)
    return b"\0" + schema_id.to_bytes(4, "big") + out.getvalue()


def foreign_ids(settings: Settings) -> dict[str, int]:
    """The id of each in the registry."""
    client = SchemaRegistryClient({"url": settings.registry_url})
    return {name: client.register_schema(f"foreign {name}", schema) for name, schema in FOREIGN.items()}
