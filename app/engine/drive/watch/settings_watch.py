"""Looks again and again whether the topics are still kept as their entries say.

A worker that starts refuses a source that is compacted or stamped by its broker; under one that runs, somebody may
change it. The figures stay those of the records that are there, so the worker goes on, and says what is wrong.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

import mode
from prometheus_client import CollectorRegistry, Gauge

from app.base.errors import KafkaUnavailable
from app.base.kafka.topic_admin import TopicState

LOOK_SECONDS = 60.0

log = logging.getLogger(__name__)


class SettingsWatch(mode.Service):
    """`ask` compares the topics with their entries, in a thread; a cluster that is silent is asked at the next look."""

    def __init__(self, ask: Callable[[], Iterable[TopicState]], registry: CollectorRegistry) -> None:
        super().__init__()
        self._ask = ask
        self._differing: set[str] = set()
        Gauge(
            "flagfall_topic_settings_differing",
            "Settings of topics that are not as their entries say; no worker would start.",
            registry=registry,
        ).set_function(lambda: len(self._differing))

    async def on_start(self) -> None:
        self.add_future(self._watch())

    async def _watch(self) -> None:
        await self.sleep(LOOK_SECONDS)
        while not self.should_stop:  # a worker that ends asks nobody
            await self._look()
            await self.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        try:
            states = await asyncio.to_thread(self._ask)
        except KafkaUnavailable:
            return
        found = {f"topic {state.topic.name} {one}" for state in states for one in state.differences}
        for one in sorted(found - self._differing):
            log.warning("%s: nothing would start with that; `flagfall doctor` says why, set it back", one)
        for one in sorted(self._differing - found):
            log.info("%s: no longer", one)
        self._differing = found
