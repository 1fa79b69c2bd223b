"""By which schema a topic's records are written: the registry's latest, asked for beside the requests.

Whoever has one in hand uses it at once, however the registry fares: one thread for each topic that was asked for looks
for a later one now and then. Only before the first answer requests wait, those of that topic alone.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future
from threading import Event, Lock, Thread

from app.base.errors import RegistryUnavailable
from app.base.names import subject_of
from app.base.registry.client import Registry
from app.codecs.avro.from_json import JsonWriter
from app.codecs.avro.strict import StrictDecoder
from app.domain.errors import FlagfallError
from app.domain.source import Source

SCHEMA_SECONDS = 30.0
"""So often the registry is asked whether a topic has a later schema."""

log = logging.getLogger(__name__)


class NoSchemaFits(FlagfallError):
    """The registry has no schema for a topic, or one by which its records cannot be counted: `flagfall schemas
    register` registers the first."""


class LatestSchema:
    """Of one topic of a source, until its `end`."""

    def __init__(self, source: Source, topic: str, registry: Registry) -> None:
        self._source, self._topic, self._registry = source, topic, registry
        self._strict = StrictDecoder(source.columns)
        self._turn, self._ended = Lock(), Event()
        self._held: Future[JsonWriter] | None = None

    def writer(self) -> Future[JsonWriter]:
        """There at once, but before the registry's first answer. RegistryUnavailable, NoSchemaFits: after either the
        registry is asked anew by whoever wants it next."""
        with self._turn:
            if self._held is None or (self._held.done() and self._held.exception() is not None):
                self._held = _under_way()
                Thread(target=self._keep, args=(self._held,), name=f"schema of {self._topic}", daemon=True).start()
            return self._held

    def end(self) -> None:
        """No more questions, behind the one that may be under way."""
        self._ended.set()

    def _keep(self, first: Future[JsonWriter]) -> None:
        try:
            writer = self._asked(None)
        except Exception as error:
            first.set_exception(error)
            return
        first.set_result(writer)
        is_silent = False
        while not self._ended.wait(SCHEMA_SECONDS):
            later: Future[JsonWriter] = _under_way()
            try:
                writer, is_silent = self._asked(writer), False
                later.set_result(writer)
            except RegistryUnavailable as error:
                if not is_silent:
                    log.warning("records of %s are taken by schema %d on: %s", self._topic, writer.schema.id, error)
                is_silent = True
                continue
            except Exception as error:
                later.set_exception(error)
            with self._turn:
                self._held = later
            if later.exception() is not None:
                return

    def _asked(self, before: JsonWriter | None) -> JsonWriter:
        subject = subject_of(self._topic)
        versions = self._registry.versions(subject)
        schema = versions[-1].schema if versions else None
        if schema is None or not self._strict.can_read(schema):
            raise NoSchemaFits(f"{subject}: the registry has no schema that fits {self._source.name}")
        return before if before is not None and before.schema == schema else JsonWriter(schema)


def _under_way() -> Future[JsonWriter]:
    """Which nobody who waits for it, and gives up, can cancel."""
    future: Future[JsonWriter] = Future()
    future.set_running_or_notify_cancel()
    return future
