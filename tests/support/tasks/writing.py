"""Writers of one task on a real broker, what they write, and what is said of their ends."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager

from app.base import names
from app.base.kafka.clients import aiokafka_options
from app.base.settings import Settings
from app.domain.marker import Marker
from app.engine.core.batch import Changes, Output, Transaction
from app.engine.drive.transactions.writer import TaskWriter
from app.rides.ride import RIDES


def writer_of(world: Settings, kind: type[TaskWriter] = TaskWriter) -> TaskWriter:
    """One of the same task each time: who fences last is its owner."""
    changelog = names.changelog_topic(world.app_id, RIDES.name)
    return kind(aiokafka_options(world.kafka), f"{world.app_id}-task", changelog, 0)


def transaction_of(world: Settings, outputs: list[Output]) -> Transaction:
    marker = Marker(world.app_id, RIDES.number, 0, 0, {}, {})
    return Transaction(marker, Changes.of([(b"key", b"value"), (b"marker", b"{}")]), outputs, [])


@contextmanager
def complaints() -> Iterator[list[str]]:
    """What the event loop logs as an error that nobody asked for, once what is gone has been collected."""
    loop, said = asyncio.get_running_loop(), list[str]()
    loop.set_exception_handler(lambda _, context: said.append(f"{context['message']}: {context.get('exception')!r}"))
    try:
        yield said
        gc.collect()
    finally:
        loop.set_exception_handler(None)
