"""Rows as lines of JSON, which are read one by one; the last line says how many there are, and that nothing was cut."""

from __future__ import annotations

import hashlib

import orjson

from app.edge.formats.format import Document, Told


def encode(told: Told) -> bytes:
    """A line for each row, and one with their number, the SHA-256 of all their lines, and meta."""
    lines = [orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in told.rows]
    rows = b"".join(lines)
    end = {"rows": len(lines), "sha256": hashlib.sha256(rows).hexdigest(), "meta": told.meta}
    return rows + orjson.dumps(end, option=orjson.OPT_APPEND_NEWLINE)


def schema(row: Document, meta: Document) -> Document:
    """Of a line."""
    properties = {"rows": {"type": "integer"}, "sha256": {"type": "string"}, "meta": meta}
    return {"anyOf": [row, {"type": "object", "properties": properties, "required": list(properties)}]}
