"""A task's rows of a view, as its owner exports them: any worker may be asked."""

from __future__ import annotations

import time
from collections.abc import Callable

from app.base.asking import Unanswered
from app.base.worker_door import WorkerDoor

TIMEOUT_SECONDS = 60.0
PATIENCE_SECONDS = 60.0
"""With a worker that gives as many exports as it may, and with a task that changes hands: several session timeouts."""
MOST_BYTES = 16 << 30
"""Above any memory that a task's rows are kept in."""


def exported(
    worker: WorkerDoor,
    view: str,
    partition: int,
    *,
    is_proxied: bool = False,
    sleep: Callable[[float], object] = time.sleep,
) -> bytes:
    """The export's bytes; waits its turn, and until a task that changes hands has an owner. Raises Unanswered."""
    path = f"/v1/views/{view}/export"
    answer = worker.get(
        path,
        {"partition": partition},
        timeout_seconds=TIMEOUT_SECONDS,
        patience_seconds=PATIENCE_SECONDS,
        most_bytes=MOST_BYTES,
        is_proxied=is_proxied,
        sleep=sleep,
    )
    if not answer.is_ok:
        raise Unanswered(
            f"{worker.url}{path}?partition={partition} answered {answer.problem}; again when the workers are ready"
        )
    return answer.content
