"""Clients of aiokafka as a worker needs them: they begin with a broker that they are told of, say what has ended, and
close at once."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiokafka.client import ConnectionGroup
from aiokafka.conn import CloseReason
from aiokafka.errors import KafkaConnectionError

from app.base.kafka.cluster import ASK_AGAIN_SECONDS, ClusterError

START_SECONDS = 30.0
"""So long is a cluster that tells of no broker, or does not answer, asked again before the worker ends."""


def prepare(client: Any) -> None:
    """From now on `client` begins with a broker, or with ClusterError after half a minute; who waits for an answer over
    a connection that ended is told so; and it closes at once."""
    _demand_brokers(client)
    _fail_what_ended(client)
    _close_at_once(client)


def _demand_brokers(client: Any) -> None:
    """A broker that has been frozen answers before its controller counts it again: it tells of no broker at all,
    itself included. aiokafka takes that for an answer, and whoever then looks for a coordinator fails for good.
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


def _fail_what_ended(client: Any) -> None:
    """A connection's end is seen by its reader a turn of the event loop after it has come. Whoever wants to send in
    between lets go of it; nothing else holds it, and who waits for an answer would do so for all of 40 s.
    """
    connection_to = client._get_conn

    async def connection(node_id: Any, *, group: int = ConnectionGroup.DEFAULT, no_hint: bool = False) -> Any:
        known = client._conns.get((node_id, group))
        if known is not None and not known.connected():
            known.close(reason=CloseReason.CONNECTION_BROKEN)
        return await connection_to(node_id, group=group, no_hint=no_hint)

    client._get_conn = connection


def _close_at_once(client: Any) -> None:
    """Without TLS' farewell, which the broker does not hear while a fetch of this client waits there.

    It comes half a second late with asyncio's event loop, and after 30 s, every other time, with uvloop
    (its issue 471). All that matters was answered before: nothing here is unsent.
    """
    close = client.close

    async def close_at_once() -> None:
        for connection in list(client._conns.values()):
            writer = connection._writer
            connection.close(reason=CloseReason.SHUTDOWN)  # first, so that nobody takes it for a broken one
            if writer is not None:
                writer.transport.abort()
        await close()

    client.close = close_at_once
