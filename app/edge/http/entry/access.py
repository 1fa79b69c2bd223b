"""Who asks: by which key, where keys are asked for, and whether it opens what is asked for."""

from __future__ import annotations

import base64
import binascii
import logging
import time
from collections.abc import Iterable

from aiohttp import hdrs, web
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from app.base.access_settings import AccessSettings
from app.base.files.keys import Key, KeysUnusable, key_of, read_keys
from app.base.scopes import KeyScope
from app.edge.http.entry.rates import Rates
from app.edge.http.problems import Handler, Problem
from app.edge.http.route import Route

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""So often the file of keys is looked at: what is added or removed counts from then on."""
CHALLENGE = {"WWW-Authenticate": 'Basic realm="flagfall", charset="UTF-8", Bearer realm="flagfall"'}
NO_KEY, NOT_ALLOWED, TOO_OFTEN = "no-key", "not-allowed", "too-often"
"""Why a caller was not answered."""


class Access(Collector):
    """The keys of a worker, read again when their file changes, and how often each caller asks.

    KeysUnusable when it is made, where there is a file that cannot be used; one that is spoilt later is told in the
    log, and the keys from before go on to count.
    """

    def __init__(self, settings: AccessSettings, routes: Iterable[Route]) -> None:
        self._file = settings.keys_file
        self._keys = {} if self._file is None else read_keys(self._file)
        self._stamp, self._look_at = self._changed_at(), time.monotonic() + LOOK_SECONDS
        self._scopes = {route.name: route.scope for route in routes}
        self._rates = Rates(settings.most_per_second)
        self.refused = dict.fromkeys((NO_KEY, NOT_ALLOWED, TOO_OFTEN), 0)

    def scope(self, request: web.Request) -> KeyScope | None:
        """What the address asks for: None where anybody may ask. What does not exist is told to readers alone."""
        return self._scopes.get(request.match_info.route.name or "", KeyScope.READ)

    def require(self, request: web.Request, scope: KeyScope) -> None:
        """A problem unless the request's key opens the address, and its caller does not ask too often."""
        caller = request.remote or ""
        if self._file is not None:
            key = self._key(request)
            caller = key.name
            if scope not in key.scopes:
                self.refused[NOT_ALLOWED] += 1
                opened = ", ".join(sorted(key.scopes))
                raise Problem("not-allowed", f"The key {key.name} is for {opened}; this address takes one for {scope}.")
        if scope is not KeyScope.WORKERS and (wait_seconds := self._rates.taken(caller)):
            self.refused[TOO_OFTEN] += 1
            raise self._rates.too_often(wait_seconds)

    def collect(self) -> Iterable[Metric]:
        """Callers that were not answered, by why."""
        refused = CounterMetricFamily(
            "flagfall_http_callers_refused",
            "Requests without a key for them, or too often.",
            labels=["reason"],
        )
        for reason, count in self.refused.items():
            refused.add_metric([reason], count)
        return [refused]

    def _key(self, request: web.Request) -> Key:
        self._read_again()
        token = shown_token(request.headers.get(hdrs.AUTHORIZATION, ""))
        key = None if token is None else key_of(self._keys, token)
        if key is None:
            self.refused[NO_KEY] += 1
            told = "shows no key" if token is None else "shows a key that is unknown, or has ended"
            raise Problem("no-key", f"The request {told}: send it as `Authorization: Bearer TOKEN`.", headers=CHALLENGE)
        return key

    def _read_again(self) -> None:
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_SECONDS
        stamp = self._changed_at()
        if stamp == self._stamp or self._file is None:
            return
        self._stamp = stamp
        try:
            self._keys = read_keys(self._file)
        except KeysUnusable as error:
            log.error("%s; the keys from before go on to count", error)
        else:
            log.info("keys are read again: %s", ", ".join(self._keys) or "there are none")

    def _changed_at(self) -> tuple[int, int] | None:
        try:
            held = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if held is None else (held.st_mtime_ns, held.st_ino)


ACCESS = web.AppKey("access", Access)


@web.middleware
async def known_caller(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer those who may ask for what they ask for, and not too often."""
    access = request.app[ACCESS]
    scope = access.scope(request)
    if scope is not None:
        access.require(request, scope)
    return await handler(request)


def shown_token(authorization: str) -> str | None:
    """The token of a Bearer header, or a name and a secret of a Basic one, which browsers send; None without."""
    scheme, _, given = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    if scheme.lower() != "basic":
        return None
    try:
        name, _, secret = base64.b64decode(given.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return f"{name}.{secret.removeprefix(f'{name}.')}"
