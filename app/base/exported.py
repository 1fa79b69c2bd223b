"""A task's rows of a view, as its owner exports them: any worker may be asked."""

from __future__ import annotations

from app.base.asking import TOO_MANY, Unanswered, get

TIMEOUT_SECONDS = 60.0
MOST_BYTES = 16 << 30
"""Above any memory that a task's rows are kept in."""


def exported(worker_url: str, view: str, partition: int, *, is_proxied: bool = False) -> bytes:
    """The export's bytes; waits its turn while the worker gives as many exports as it may. Raises Unanswered."""
    where = f"{worker_url.rstrip('/')}/v1/views/{view}/export"
    answer = get(
        where,
        {"partition": partition},
        timeout_seconds=TIMEOUT_SECONDS,
        patience_seconds=TIMEOUT_SECONDS,
        again_at=(TOO_MANY,),
        most_bytes=MOST_BYTES,
        is_proxied=is_proxied,
    )
    if not answer.is_ok:
        raise Unanswered(f"{where}?partition={partition} answered {answer.problem}; again when the workers are ready")
    return answer.content
