"""A state that a worker gives up is freed at once: it may be gigabytes, and garbage waits until it suits Python."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from app.engine.core.restore import Restorer
from app.engine.core.task import TaskCore
from app.engine.drive.folding_threads import FoldingThreads
from app.engine.drive.kafka.schemas import SchemaCache
from app.engine.drive.runner import TaskRunner
from tests.support.tasks.cores import new_core
from tests.support.tasks.runners import (
    HOLD_RECORDS,
    FakeWriter,
    LogEndsAsked,
    Registry,
    RegistryDownError,
    Turns,
    never,
    yellow,
)
from tests.support.tasks.task_batches import PARTITION


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
async def test_a_runner_that_was_stopped_leaves_its_state_to_nobody() -> None:
    writer, core = FakeWriter(), new_core(PARTITION)
    schemas = SchemaCache(Registry().look_up, RegistryDownError)
    threads = FoldingThreads(1)
    runner = _runner(core, writer, schemas, threads)
    runner.start()
    runner.offer(yellow(0), lambda: None)
    await writer.begun.acquire()
    state = weakref.ref(core.state)
    assert await runner.stop(1.0)
    assert writer.written
    del runner, core
    await threads.run(int)  # the thread has let go what it did before
    assert state() is None


@pytest.mark.usefixtures("no_garbage_collection")
def test_a_restorer_that_is_given_up_leaves_its_state_to_nobody() -> None:
    core = new_core(PARTITION)
    restorer = Restorer(core.definition)
    state = weakref.ref(restorer.finish(core.state.marker.inputs, PARTITION))
    assert state() is not None
    del restorer
    assert state() is None


def _runner(core: TaskCore, writer: FakeWriter, schemas: SchemaCache, threads: FoldingThreads) -> TaskRunner:
    """One that nobody listens to."""
    return TaskRunner(
        core,
        writer,  # type: ignore[arg-type]
        schemas,
        reread=never,
        ask_log_ends=LogEndsAsked(),
        budget=Turns(),
        threads=threads,
        hold_records=HOLD_RECORDS,
        full=lambda _: None,
        drained=lambda _: None,
        on_gap=lambda *_: None,
        on_failure=lambda *_: None,
    )
