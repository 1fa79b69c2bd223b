"""Rows as lines of JSON, which are read one by one; the last line says how many there are, and that nothing was cut."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import orjson

from app.edge.formats.format import Document, Told


def encode(told: Told) -> bytes:
    """A line for each row, and one with their number, the SHA-256 of all their lines, and meta."""
    lines = [orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in told.rows]
    rows = b"".join(lines)
    return rows + _end(len(lines), hashlib.sha256(rows).hexdigest(), told.meta)


def joined(pages: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of all rows, and behind them one end."""
    rows, proof, meta = 0, hashlib.sha256(), Document()
    for page in pages:
        *lines, last = page.splitlines(keepends=True)
        end, told = orjson.loads(last), b"".join(lines)
        proof.update(told)
        rows, meta = rows + end["rows"], end["meta"]
        yield told
    yield _end(rows, proof.hexdigest(), meta)


def _end(rows: int, sha256: str, meta: Document) -> bytes:
    return orjson.dumps({"rows": rows, "sha256": sha256, "meta": meta}, option=orjson.OPT_APPEND_NEWLINE)


def schema(row: Document, meta: Document) -> Document:
    """Of a line."""
    properties = {"rows": {"type": "integer"}, "sha256": {"type": "string"}, "meta": meta}
    return {"anyOf": [row, {"type": "object", "properties": properties, "required": list(properties)}]}
