"""A schema registry of this process that gives any trouble; without it, it answers as the real one does.

`contract` is what of the real one's answers it holds to: asked of this one in
tests/unit/tasks/test_registry_trouble.py, of a real one in tests/integration/kafka/test_schema_registry.py.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import httpx
from aiohttp import web
from aiohttp.test_utils import TestServer

Trouble = Callable[[web.Request], Awaitable[web.StreamResponse]]
MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


class FakeRegistry:
    """Schemas by id, as texts of Avro; `trouble` answers in its place."""

    def __init__(self) -> None:
        self.url = ""
        self.schemas: dict[int, str] = {}
        self.subjects: dict[str, list[int]] = {}
        self.trouble: Trouble | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Whatever is asked."""
        if self.trouble is not None:
            return await self.trouble(request)
        match request.method, request.path.strip("/").split("/"):
            case "GET", ["schemas", "ids", number] if int(number) in self.schemas:
                return answer_of({"schema": self.schemas[int(number)]})
            case "GET", ["schemas", "ids", _]:
                return error_of(404, 40403)
            case "GET", ["subjects", subject, "versions"] if subject in self.subjects:
                return answer_of([*range(1, 1 + len(self.subjects[subject]))])
            case "POST", ["subjects", subject, "versions"]:
                return answer_of({"id": self._register(subject, (await request.json())["schema"])})
        return error_of(404, 40401)

    def _register(self, subject: str, text: str) -> int:
        known = {schema: number for number, schema in self.schemas.items()}
        number = known.get(text, len(self.schemas) + 1)
        self.schemas[number] = text
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number


@asynccontextmanager
async def fake_registry() -> AsyncIterator[FakeRegistry]:
    """One that listens while the block runs."""
    fake, app = FakeRegistry(), web.Application()
    app.router.add_route("*", "/{path:.*}", fake.answer)
    async with TestServer(app) as server:
        fake.url = str(server.make_url("")).rstrip("/")
        yield fake


def answer_of(document: object) -> web.Response:
    """As a registry says it."""
    return web.Response(text=json.dumps(document), content_type=MEDIA_TYPE)


def error_of(status: int, code: int) -> web.Response:
    """As a registry refuses."""
    body = json.dumps({"error_code": code, "message": "No."})
    return web.Response(status=status, text=body, content_type=MEDIA_TYPE)


def saying(status: int, text: str, media_type: str = "text/html") -> Trouble:
    """Always the same."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, content_type=media_type)

    return answer


async def elsewhere(request: web.Request) -> web.StreamResponse:
    raise web.HTTPFound(f"/elsewhere{request.path}")


async def silent(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def cut_off(request: web.Request) -> web.StreamResponse:
    """It dies in the middle of an answer."""
    answer = web.StreamResponse(headers={"Content-Type": MEDIA_TYPE, "Content-Length": "100"})
    await answer.prepare(request)
    await answer.write(b'{"schema": "{')
    assert request.transport is not None
    request.transport.abort()
    return answer


async def endless(request: web.Request) -> web.StreamResponse:
    """A byte now and then, and no end."""
    return await _streamed(request, MEDIA_TYPE, b" ", pause_seconds=0.01)


async def flooding(request: web.Request) -> web.StreamResponse:
    """A page without end."""
    return await _streamed(request, "text/html", b"<p>" * 100_000, pause_seconds=0)


async def inflating(_: web.Request) -> web.StreamResponse:
    """Short on the way."""
    body = gzip.compress(b'{"schema": "' + b" " * 20_000_000)
    return web.Response(body=body, content_type=MEDIA_TYPE, headers={"Content-Encoding": "gzip"})


async def _streamed(request: web.Request, media_type: str, piece: bytes, pause_seconds: float) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": media_type})
    await answer.prepare(request)
    with suppress(ConnectionError):
        while True:
            await answer.write(piece)
            await asyncio.sleep(pause_seconds)
    return answer


TROUBLES: Mapping[str, Trouble] = {
    "500": saying(500, '{"error_code": 50001, "message": "store"}', MEDIA_TYPE),
    "500 that sounds like an unknown id": saying(500, '{"error_code": 40403, "message": "?"}', MEDIA_TYPE),
    "503 of a proxy": saying(503, "<html>try later</html>"),
    "404 of another server": saying(404, "<html>no such page</html>"),
    "404 of another thing": saying(404, '{"error_code": 40401, "message": "no subject"}', MEDIA_TYPE),
    "401": saying(401, '{"error_code": 401, "message": "who?"}', MEDIA_TYPE),
    "a page": saying(200, "<html>please log in</html>"),
    "nothing": saying(200, ""),
    "204": saying(204, ""),
    "null": saying(200, "null", MEDIA_TYPE),
    "a list": saying(200, "[]", MEDIA_TYPE),
    "no schema": saying(200, "{}", MEDIA_TYPE),
    "a number for a schema": saying(200, '{"schema": 5}', MEDIA_TYPE),
    "a number for a type": saying(200, '{"schema": "{}", "schemaType": 5}', MEDIA_TYPE),
    "lists in lists": saying(200, "[" * 100_000, MEDIA_TYPE),
    "another address": elsewhere,
    "silence": silent,
    "half an answer": cut_off,
    "an answer without end": endless,
    "a page without end": flooding,
    "a bomb": inflating,
}


def contract(url: str) -> dict[str, object]:
    """Answers of the registry at this address, as far as anybody relies on them; it has one schema more afterwards."""
    with httpx.Client(base_url=url, trust_env=False) as client:

        def register() -> int:
            return int(client.post("/subjects/contract-value/versions", json={"schema": '"string"'}).json()["id"])

        number = register()
        known = client.get(f"/schemas/ids/{number}")
        unknown, no_subject = client.get("/schemas/ids/987654"), client.get("/subjects/nobody/versions")
        return {
            "again": register() == number,
            "versions": client.get("/subjects/contract-value/versions").json(),
            "known": (known.status_code, json.loads(known.json()["schema"]), known.json().get("schemaType", "AVRO")),
            "unknown": (unknown.status_code, unknown.json()["error_code"]),
            "no subject": (no_subject.status_code, no_subject.json()["error_code"]),
            "media": ["json" in answer.headers["Content-Type"] for answer in (known, unknown, no_subject)],
        }


CONTRACT = {
    "again": True,
    "versions": [1],
    "known": (200, "string", "AVRO"),
    "unknown": (404, 40403),
    "no subject": (404, 40401),
    "media": [True, True, True],
}
