"""Pages of a question, asked for one after the other until so many rows are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from app.edge.cli.tables.asked import answer_of
from app.edge.formats.format import Format

if TYPE_CHECKING:
    from app.base.asking import Answer
    from app.base.worker_door import WorkerDoor

CURSOR, FORMAT, LIMIT = "cursor", "format", "limit"
TIMEOUT_SECONDS, PATIENCE_SECONDS = 10.0, 60.0
"""Of each page; who has some already waits for the next one as long as he is told to."""


class PagedRows(NamedTuple):
    """Which rows are asked for, and how they are written; `limit` of them at most, or what is given unasked."""

    address: str
    asked: list[tuple[str, str]]
    written: Format
    limit: int | None

    @property
    def is_long(self) -> bool:
        """Whether it takes more pages than one."""
        return self.limit is not None and self.limit > self.written.most_rows and self.written.joined is not None


def pages(worker: WorkerDoor, question: PagedRows, advanced: Callable[[int], None]) -> Iterator[Answer]:
    """Each answer; of a long question until its limit, or the last page. QueryError where one cannot be had.

    `advanced` hears how many rows there are. Each page is of the state of its own time.
    """
    limit, most = question.limit, question.written.most_rows
    if not question.is_long or limit is None:
        yield _page(worker, question, () if limit is None else ((LIMIT, str(limit)),))
        return
    cursor: tuple[tuple[str, str], ...] = ()
    for done in range(0, limit, most):
        advanced(done)
        answer = _page(worker, question, (*cursor, (LIMIT, str(min(limit - done, most)))))
        yield answer
        if (after := next_cursor(answer.headers)) is None:
            return
        cursor = ((CURSOR, after),)


def next_cursor(headers: Mapping[str, str]) -> str | None:
    """Of the page behind the one of these; None behind the last one."""
    return headers.get("flagfall-next-cursor")


def _page(worker: WorkerDoor, question: PagedRows, further: Sequence[tuple[str, str]]) -> Answer:
    named = dict(further)
    asked = [told for told in question.asked if told[0] not in named] + [*further, (FORMAT, question.written.name)]
    patience_seconds = PATIENCE_SECONDS if CURSOR in named else 0.0
    ask = partial(worker.get, question.address, asked, timeout_seconds=TIMEOUT_SECONDS)
    return answer_of(worker.url, partial(ask, patience_seconds=patience_seconds))
