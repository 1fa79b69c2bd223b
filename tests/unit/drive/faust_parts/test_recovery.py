"""A recovery that is stopped, or overtaken by another rebalance, ends without a word."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from faust.tables import recovery as stock

from app.engine.drive.faust_parts.recovery import TakeOverRecovery


@pytest.mark.parametrize(
    ("event", "told"), [("_stopped", stock.ServiceStopped), ("signal_recovery_start", stock.RebalanceAgain)]
)
def test_what_ends_a_recovery_is_told_to_who_waits_and_no_failure_of_its_last_step(
    event: str, told: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen in a worker that was told to stop a moment after it was ready, while it looked up its positions: the waiter
    was cancelled as its task failed, and the log had a trace of an exception that nobody had retrieved."""

    async def seeks_for_good(recovery: Any, generation_id: int) -> None:
        await recovery._wait(asyncio.Event())

    async def ended() -> asyncio.Task[None]:
        app: Any = SimpleNamespace(conf=SimpleNamespace(stream_recovery_delay=0.0))
        recovery = TakeOverRecovery(app, None)  # type: ignore[arg-type]
        last_step = asyncio.create_task(recovery.on_recovery_completed(1))
        waiting = asyncio.create_task(recovery._wait(last_step))
        await asyncio.sleep(0)
        getattr(recovery, event).set()
        with pytest.raises(told):
            await waiting
        await asyncio.wait([last_step])
        return last_step

    monkeypatch.setattr(stock.Recovery, "on_recovery_completed", seeks_for_good)
    last_step = asyncio.run(ended())
    assert last_step.cancelled() or last_step.exception() is None
