"""A running worker as commands ask it: the local one unless another is named, its problems told in its own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.domain.errors import FlagfallError

if TYPE_CHECKING:
    from app.base.asking import Answer, Unanswered
    from app.base.worker_door import WorkerDoor

UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
"""What OpenSSL calls it."""


class QueryError(FlagfallError):
    """The worker could not be asked, or refused."""


def door_of_worker(worker_url: str | None) -> WorkerDoor:
    """Where the worker is asked."""
    from app.base.settings import Settings
    from app.base.worker_door import door_of

    return door_of(Settings.load(), worker_url)


def answer_of(url: str, ask: Callable[[], Answer]) -> Answer:
    """What it answers; QueryError with the problem's own words where it refuses."""
    from app.base.asking import Unanswered

    try:
        answer = ask()
    except Unanswered as error:
        raise QueryError(f"{url} cannot be asked ({error}); {_advice(url, error)}") from error
    if answer.is_ok:
        return answer
    problem = _document(url, answer)
    again = "; it may succeed later" if problem.get("retryable") else ""
    raise QueryError(f"{problem.get('title')} ({answer.status}{again})\n{problem.get('detail')}")


def document_of(url: str, ask: Callable[[], Answer]) -> dict[str, Any]:
    """The document that it answers; QueryError as `answer_of` raises it."""
    return _document(url, answer_of(url, ask))


def _advice(url: str, error: Unanswered) -> str:
    """To who cannot ask a worker."""
    from app.base.asking import AnswererAway
    from app.base.setting_groups import variable

    if UNTRUSTED in str(error):
        return f"{variable('access_ca_file')} names the authorities whose certificates workers may have"
    advice = "is a worker running? `flagfall worker` starts one, --worker names another"
    if isinstance(error, AnswererAway) and url.startswith("http:"):
        return f"{advice}. One that has a certificate hangs up so: --worker {url.replace('http', 'https', 1)}"
    return advice


def _document(url: str, answer: Answer) -> dict[str, Any]:
    from app.base.asking import Unanswered

    try:
        return answer.document()
    except Unanswered as error:
        raise QueryError(f"{url} answered {answer.status}, and no JSON: is it a flagfall worker?") from error
