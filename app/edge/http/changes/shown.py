"""What an answer shows at a moment, by key; and what became other or went between two moments."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from app.edge.formats.format import Document, Told
from app.edge.http.query.rows_query import RowsQuery

DIGEST_BYTES = 12

Parts = tuple[bytes, ...]
"""Of a JSON document, one behind the other; all rows are one of them."""


class ShownRows(NamedTuple):
    """Rows as JSON by their keys as JSON, in order. `digest` names the rows, whichever worker shows them; `meta` is
    about the moment, and not in it. `window`: the one that all rows have, where `last` asked for it. `size_bytes`: what
    its rows take, about."""

    rows: Mapping[bytes, bytes]
    digest: str
    meta: Document
    window: Document | None = None
    size_bytes: int = 0


def shown(query: RowsQuery, told: Told) -> ShownRows:
    """The rows of an answer. Where they share the window of `last`, which moves on, it stands beside them, once."""
    window, held = None, {}
    for row in told.rows:
        if query.last_us is not None:
            window = row.pop("window")
        held[_json(_key(row))] = _json(row)
    digest = hashlib.blake2b(b"".join(held.values()), digest_size=DIGEST_BYTES).hexdigest()
    return ShownRows(held, digest, told.meta, window, sum(len(key) + len(row) for key, row in held.items()))


def whole(now: ShownRows) -> Parts:
    """All rows, as a client without any takes them."""
    return _told(now, b'"rows":[', b",".join(now.rows.values()), b"]")


def difference(before: ShownRows, now: ShownRows) -> Parts:
    """Rows that are new or other, in order, and keys of those that are gone."""
    changed = (row for key, row in now.rows.items() if before.rows.get(key) != row)
    gone = (key for key in before.rows if key not in now.rows)
    return _told(now, b'"changed":[', b",".join(changed), b'],"gone":[', b",".join(gone), b"]")


def standing(now: ShownRows) -> Parts:
    """The moment alone: rows are as they were."""
    return _told(now, b'"same":true')


def _json(document: Document) -> bytes:
    """A copy, to be kept: what orjson gives goes on holding the room that it was written in, up to 32 times as much."""
    return bytes(memoryview(orjson.dumps(document)))


def _key(row: Document) -> dict[str, Any]:
    return {name: row[name] for name in ("window", "group") if name in row}


def _told(now: ShownRows, *rows: bytes) -> Parts:
    window = b"" if now.window is None else b'"window":' + orjson.dumps(now.window) + b","
    return b"{" + window, *rows, b',"meta":' + orjson.dumps(now.meta) + b"}"
