"""What must hold before a worker joins its group, asked with the patience that a silent broker has elsewhere."""

from __future__ import annotations

import asyncio
import logging
import time

from app.base.errors import KafkaUnavailable
from app.base.kafka.cluster import ASK_AGAIN_SECONDS
from app.engine.drive.questions import Check

PATIENCE_SECONDS = 30.0
"""A broker that is frozen for a while, or started again, ends no worker that begins meanwhile."""

log = logging.getLogger(__name__)


async def require(check: Check) -> None:
    """Ask in a thread. What the check raises is raised here; KafkaUnavailable is told, and raised if it stays so."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    told = False
    while True:
        try:
            return await asyncio.to_thread(check)
        except KafkaUnavailable as error:
            if time.monotonic() >= deadline:
                raise
            if not told:
                log.warning("%s; asking again, for half a minute in all", error)
            told = True
        await asyncio.sleep(ASK_AGAIN_SECONDS)
