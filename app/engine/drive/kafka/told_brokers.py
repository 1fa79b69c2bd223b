"""Clients of aiokafka that begin with a broker that they are told of."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiokafka.errors import KafkaConnectionError

from app.base.kafka.cluster import ASK_AGAIN_SECONDS, ClusterError

START_SECONDS = 30.0
"""So long is a cluster that tells of no broker, or does not answer, asked again before the worker ends."""


def demand_brokers(client: Any) -> None:
    """From now on the client begins with a broker, or with ClusterError after half a minute.

    A broker that has been frozen answers before its controller counts it again: it tells of no broker at all, itself
    included. aiokafka takes that for an answer, and whoever then looks for a coordinator fails for good.
    """
    bootstrap = client.bootstrap

    async def bootstrap_until_told() -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            why = "it tells of no broker"
            try:
                await bootstrap()
                if client.cluster.brokers():
                    return
            except KafkaConnectionError as error:
                why = str(error)
            await client.close()
            client._conns.clear()  # the first connection among them, which is kept while no broker is told of
            if time.monotonic() >= deadline:
                raise ClusterError(f"the cluster has no broker that answers ({why}): is it up?")
            await asyncio.sleep(ASK_AGAIN_SECONDS)

    client.bootstrap = bootstrap_until_told
