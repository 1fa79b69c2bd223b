"""What a request brings to be written: records in JSON, one, a list, or one a line, and the key that it is known by."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from aiohttp import web

from app.edge.http.decoding import document, documents
from app.edge.http.entry.bodies import read_body, require_sent_as
from app.edge.http.problems import Problem
from app.edge.intake.encoding import AnyJson

JSON, LINES = "application/json", "application/x-ndjson"
"""One document or a list of them, and one a line."""
KEY = "Idempotency-Key"
MOST_KEY_LETTERS = 200
MOST_BODY_BYTES = 4_000_000
MOST_RECORDS = 10_000


class SentRecords(NamedTuple):
    """`key` is None where the request may be taken as often as it comes."""

    body: bytes
    media_type: str
    key: str | None

    def digest(self, topic: str) -> str:
        """Of what a key stands for."""
        return hashlib.sha256(b"\n".join([topic.encode(), self.media_type.encode(), self.body])).hexdigest()

    def documents(self) -> list[AnyJson]:
        """Each record's; a line that is no JSON is told in its place. A problem where all is none, or too much."""
        if self.media_type == LINES:
            lines = [line for line in self.body.split(b"\n") if line.strip()]
            _require_few(len(lines))
            return [document(line) for line in lines]
        found = documents(self.body)
        _require_few(len(found))
        return found


def _require_few(count: int) -> None:
    if not 0 < count <= MOST_RECORDS:
        raise Problem("bad-request", f"Send 1 to {MOST_RECORDS:,} records at a time; these are {count:,}.")


async def read_brought(request: web.Request) -> SentRecords:
    require_sent_as(request, (JSON, LINES))
    key = _key(request)
    too_long = Problem("too-large", f"A request has at most {MOST_BODY_BYTES:,} bytes; send several.")
    return SentRecords(await read_body(request, MOST_BODY_BYTES, too_long), request.content_type, key)


def _key(request: web.Request) -> str | None:
    given = request.headers.getall(KEY, [])
    if not given:
        return None
    if len(given) > 1 or not (0 < len(given[0]) <= MOST_KEY_LETTERS and given[0].isascii() and given[0].isprintable()):
        raise Problem("bad-request", f"{KEY} is one text of 1 to {MOST_KEY_LETTERS} letters of ASCII.")
    return given[0]
