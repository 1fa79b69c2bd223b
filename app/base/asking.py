"""Asking over HTTP, for all who can wait: bounded in time and bytes, patient if told to wait, errors in words.

On an event loop workers ask each other with aiohttp (`app.edge.http.owners`). Confluent's client of a schema
registry brings its own requests; its answers are bounded here too (`app.base.registry.answers`).
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from app.domain.errors import FlagfallError

OK, TOO_MANY, UNAVAILABLE = HTTPStatus.OK, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE
MOST_BYTES = 64_000_000
"""Of a document. Exports have a bound of their own."""
WHOLE_TIMES = 10
"""How many times longer than each of its pieces a whole answer may take."""
SHORTEST_SECONDS, USUAL_SECONDS = 0.1, 1.0
MAX_TOLD = 300

QueryParameters = Mapping[str, str | int] | Sequence[tuple[str, str]]


class Unanswered(FlagfallError):
    """Nothing answers at an address, or not in the bounds of an answer; the text names the address and the cause."""


class AnswererAway(Unanswered):
    """An answer broke off, or the address that was asked sent on to one that is silent: it may soon name another."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came, whatever its status; `headers` by their names in lower case."""

    where: str
    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        return self.status == OK

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    def document(self) -> dict[str, Any]:
        """Its JSON object; Unanswered if it is none."""
        try:
            document = json.loads(self.content)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise Unanswered(f"{self.where} answered {self.status}, and no JSON object: {self.text[:MAX_TOLD]}")
        return document

    @property
    def problem(self) -> str:
        """Status and words of a refusal: what a problem document (RFC 9457) says, or the beginning of anything else."""
        try:
            document = self.document()
        except Unanswered:
            return f"{self.status}: {self.text[:MAX_TOLD]}"
        told = (document[name] for name in ("title", "detail") if document.get(name))
        return f"{self.status}: {': '.join(map(str, told))}"


def get(
    url: str,
    parameters: QueryParameters = (),
    *,
    timeout_seconds: float,
    patience_seconds: float = 0.0,
    again_at: Collection[int] = (TOO_MANY, UNAVAILABLE),
    most_bytes: int = MOST_BYTES,
    sleep: Callable[[float], object] = time.sleep,
    **options: Any,
) -> Answer:
    """The first answer of another status than `again_at`, or the last one within the patience. Raises Unanswered.

    In between it waits as long as it is told. `timeout_seconds` is for the connection and for each piece of an answer.
    Patience is with those who answer: an address at which nothing does is Unanswered at once.
    """
    until = time.monotonic() + patience_seconds
    while True:
        wait_seconds = USUAL_SECONDS
        try:
            answer = _ask("GET", url, timeout_seconds, most_bytes, params=parameters, **options)
        except AnswererAway:
            if time.monotonic() + wait_seconds > until:
                raise
        else:
            if (told := answer.headers.get("retry-after", "")).isdecimal():
                wait_seconds = max(SHORTEST_SECONDS, float(told))
            if answer.status not in again_at or time.monotonic() + wait_seconds > until:
                return answer
        sleep(wait_seconds)


def put(url: str, document: Mapping[str, Any], *, timeout_seconds: float) -> Answer:
    """What is answered to a JSON document. Raises Unanswered."""
    return _ask("PUT", url, timeout_seconds, MOST_BYTES, json=document)


def post(url: str, document: Mapping[str, Any], *, timeout_seconds: float, **options: Any) -> Answer:
    """What is answered to a JSON document that asks. Raises Unanswered."""
    return _ask("POST", url, timeout_seconds, MOST_BYTES, json=document, **options)


def bounded(
    pieces: Iterable[bytes], most_bytes: int, within_seconds: float, too_large: type[Exception] = ValueError
) -> Iterator[bytes]:
    """The pieces of an answer that ends: `too_large` beyond the bytes, ValueError when the time is over."""
    began, read = time.monotonic(), 0
    for piece in pieces:
        read += len(piece)
        if read > most_bytes:
            raise too_large(f"an answer of more than {most_bytes} bytes")
        if time.monotonic() - began > within_seconds:
            raise ValueError(f"an answer that has not ended after {within_seconds:g} s")
        yield piece


def _ask(
    method: str,
    url: str,
    timeout_seconds: float,
    most_bytes: int,
    *,
    login: tuple[str, str] | None = None,
    token: str = "",
    trusted: ssl.SSLContext | None = None,
    is_proxied: bool = False,
    **sent: Any,
) -> Answer:
    """One answer, behind redirects, where `token` is shown too: workers send on to one another. `trusted`: whose
    certificates count. The environment's proxies and certificates do only where `is_proxied`."""
    import httpx

    def show(request: httpx.Request) -> None:
        if token and request.url.scheme == httpx.URL(url).scheme:
            request.headers["Authorization"] = f"Bearer {token}"

    try:
        with (
            httpx.Client(
                timeout=timeout_seconds,
                trust_env=is_proxied,
                follow_redirects=True,
                auth=login,
                verify=trusted or True,
                event_hooks={"request": [show]},
            ) as client,
            client.stream(method, url, **sent) as came,
        ):
            content = b"".join(bounded(came.iter_bytes(), most_bytes, WHOLE_TIMES * timeout_seconds))
            return Answer(str(came.url), came.status_code, content, dict(came.headers))
    except httpx.TransportError as error:
        silent = str(error.request.url)
        if silent != str(httpx.URL(url, params=sent.get("params"))):
            raise AnswererAway(f"{url} sends on to {silent}: {type(error).__name__} {error}") from error
        broke_off = isinstance(error, httpx.ReadError | httpx.RemoteProtocolError)
        raise (AnswererAway if broke_off else Unanswered)(f"{url}: {type(error).__name__} {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Unanswered(f"{url}: {type(error).__name__} {error}") from error
