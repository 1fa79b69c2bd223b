"""Who asks: by which key, where keys are asked for, and whether it opens what is asked for."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiohttp import hdrs, web
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from app.base.access_settings import AccessSettings
from app.base.files.keys import Key
from app.base.scopes import KeyScope
from app.base.setting_groups import variable
from app.edge.http.entry.callers import CALLER, Caller
from app.edge.http.entry.hosts import is_own, other_host
from app.edge.http.entry.known_keys import KnownKeys
from app.edge.http.entry.rates import Rates
from app.edge.http.problems import Handler, Problem
from app.edge.http.route import Route

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""So often the file of keys is looked at: what is added or removed counts from then on, for what is being answered
too."""
CHALLENGE = {"WWW-Authenticate": 'Basic realm="flagfall", charset="UTF-8", Bearer realm="flagfall"'}
NO_KEY, NOT_ALLOWED, TOO_OFTEN, OTHER_HOST = "no-key", "not-allowed", "too-often", "other-host"
"""Why a caller was not answered."""


class _NoKey(Problem):
    """It does not tell the query: a token stands there that somebody sent by mistake."""

    def document(self, instance: str) -> dict[str, Any]:
        return super().document(instance.partition("?")[0])


class Access(Collector):
    """Who may ask a worker for what, how often, and for how long they are answered.

    KeysUnusable when it is made, where there is a file of keys that cannot be used. `own_url` tells what others know
    the worker by.
    """

    def __init__(self, settings: AccessSettings, routes: Iterable[Route], own_url: Callable[[], str]) -> None:
        self._keys = None if settings.keys_file is None else KnownKeys(settings.keys_file)
        self._own_url = own_url
        self._is_for_loopback = self._keys is None and not settings.open_to_all
        self._scopes = {route.name: route.scope for route in routes}
        self._rates = Rates(settings.most_per_second)
        if self._keys is not None and (doubt := _doubt(settings, self._keys)):
            log.warning("%s: other workers, which take keys as this one does, do not answer it", doubt)
        self._answered: dict[Caller, tuple[Key, KeyScope]] = {}
        self.refused = dict.fromkeys((NO_KEY, NOT_ALLOWED, TOO_OFTEN, OTHER_HOST), 0)

    def scope(self, request: web.Request) -> KeyScope | None:
        """What the address asks for: None where anybody may ask. What does not exist is told to readers alone."""
        return self._scopes.get(request.match_info.route.name or "", KeyScope.READ)

    def require_own_host(self, request: web.Request) -> None:
        """A problem where loopback alone guards the worker, which a browser passes for whoever wrote its page."""
        if not self._is_for_loopback:
            return
        for host in request.headers.getall(hdrs.HOST, ()):
            if not is_own(host, self._own_url()):
                self.refused[OTHER_HOST] += 1
                raise other_host(host)

    @asynccontextmanager
    async def answering(self, request: web.Request, scope: KeyScope) -> AsyncIterator[Caller]:
        """Whose request it is. A problem unless their key opens the address, also if it does so no more while they are
        inside, and where they ask too often."""
        key = self._key(request, scope)
        caller = Caller(request.remote or "" if key is None else key.name)
        if scope is not KeyScope.WORKERS and (wait_seconds := self._rates.taken(caller.name)):
            self.refused[TOO_OFTEN] += 1
            raise self._rates.too_often(wait_seconds)
        if key is None or scope is KeyScope.WRITE:  # who brings records is told what became of them
            yield caller
            return
        self._answered[caller] = key, scope
        try:
            async with caller.counting():
                yield caller
        finally:
            self._answered.pop(caller, None)

    async def watch(self) -> None:
        """Look at the keys again and again, until cancelled."""
        while self._keys is not None:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Take the keys as they are now, and break off what is answered to those that open it no more."""
        if self._keys is None:
            return
        self._keys.look()
        for caller, (key, scope) in list(self._answered.items()):
            now = self._keys.named(key)
            if now is None or scope not in now.scopes:
                del self._answered[caller]
                caller.lapse(self._lapsed(key) if now is None else self._not_allowed(now, scope))

    def collect(self) -> Iterable[Metric]:
        """Callers that were not answered, by why."""
        refused = CounterMetricFamily(
            "flagfall_http_callers_refused",
            "Requests without a key for them, too often, or for another host.",
            labels=["reason"],
        )
        for reason, count in self.refused.items():
            refused.add_metric([reason], count)
        return [refused]

    def _key(self, request: web.Request, scope: KeyScope) -> Key | None:
        """None where no keys are asked for."""
        if self._keys is None:
            return None
        token = shown_token(request.headers.get(hdrs.AUTHORIZATION, ""))
        key = None if token is None else self._keys.opened_by(token)
        if key is None:
            told = "shows no key" if token is None else "shows a key that is unknown, or has ended"
            raise self._no_key(f"The request {told}: send it as `Authorization: Bearer TOKEN`.")
        if scope not in key.scopes:
            raise self._not_allowed(key, scope)
        return key

    def _no_key(self, detail: str) -> Problem:
        self.refused[NO_KEY] += 1
        return _NoKey("no-key", detail, headers=CHALLENGE)

    def _lapsed(self, key: Key) -> Problem:
        return self._no_key(f"The key {key.name} was removed or has ended while it was answered.")

    def _not_allowed(self, key: Key, scope: KeyScope) -> Problem:
        self.refused[NOT_ALLOWED] += 1
        opened = ", ".join(sorted(key.scopes))
        return Problem("not-allowed", f"The key {key.name} is for {opened}; this address takes one for {scope}.")


ACCESS = web.AppKey("access", Access)


@web.middleware
async def known_caller(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer those who may ask for what they ask for, and not too often."""
    access = request.app[ACCESS]
    access.require_own_host(request)
    scope = access.scope(request)
    if scope is None:
        return await handler(request)
    async with access.answering(request, scope) as caller:
        request[CALLER] = caller
        return await handler(request)


async def keys_watched(app: web.Application) -> AsyncIterator[None]:
    """While the application runs."""
    watch = asyncio.create_task(app[ACCESS].watch())
    yield
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


def _doubt(settings: AccessSettings, keys: KnownKeys) -> str:
    """What is wrong with the worker's own token, if the others have the same keys; else nothing."""
    token = settings.token.get_secret_value()
    if not token:
        return f"{variable('access_token')} is not set"
    key = keys.opened_by(token)
    is_for_workers = key is not None and KeyScope.WORKERS in key.scopes
    return "" if is_for_workers else f"{variable('access_token')} is no key for workers of {settings.keys_file}"


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
