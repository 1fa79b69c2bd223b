"""What a request asks of the brokers: what they do not answer while it may still be answered is told as theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from app.base.errors import KafkaUnavailable
from app.base.kafka.cluster import ClusterError
from app.edge.http.problems import Problem

Reply = TypeVar("Reply")
PART = 0.9
"""Of a request's time: what is told of brokers is told before the request is cut as too slow."""


class Brokers:
    """Of one request, which began a moment ago and may take so many seconds."""

    def __init__(self, request_seconds: float) -> None:
        self._seconds = PART * request_seconds
        self._until_seconds = asyncio.get_running_loop().time() + self._seconds

    async def answer(self, asked: Awaitable[Reply]) -> Reply:
        """What they answer; the `no-broker` problem if they cannot be asked, or say nothing in time."""
        try:
            async with asyncio.timeout_at(self._until_seconds) as deadline:
                return await asked
        except TimeoutError:
            if not deadline.expired():
                raise
            raise Problem("no-broker", f"No broker answered what was asked within {self._seconds:g} s.") from None
        except (KafkaUnavailable, ClusterError) as error:
            raise Problem("no-broker", f"{error}.") from error
