"""Fetching again from where a state ends, when what came does not follow it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from faust.types import TP

from app.base.kafka.cluster import Cluster
from app.domain.records import TopicPartition
from app.engine.drive import background
from app.engine.drive.kafka.inputs import log_loss

log = logging.getLogger(__name__)


class Refetch:
    """Seeks the worker's consumer back. What is dropped meanwhile comes again; the log may not begin later."""

    def __init__(self, app: Any, cluster: Cluster) -> None:
        self._app, self._cluster = app, cluster
        self._seeking: set[TP] = set()

    def begin(self, tp: TP, offset: int) -> None:
        """Seek to `offset`, unless that is under way for this topic-partition; what goes wrong ends the worker."""
        if tp not in self._seeking:
            log.info("%s-%d: fetching again from offset %d", tp.topic, tp.partition, offset)
            self._seeking.add(tp)
            background.begin(self._seek(tp, offset), f"fetching {tp.topic}-{tp.partition} again")

    async def _seek(self, tp: TP, offset: int) -> None:
        place = TopicPartition(tp.topic, tp.partition)
        try:
            start = (await asyncio.to_thread(self._cluster.log_starts, [place]))[place]
            if start > offset:
                await self._app.fail(log_loss(place, start, offset))
            elif tp in self._app.consumer.assignment():
                await self._app.consumer.seek_wait({tp: offset})
        except Exception as error:
            await self._app.fail(error)
        finally:
            self._seeking.discard(tp)
