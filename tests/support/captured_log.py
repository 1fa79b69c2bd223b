"""What has been logged, line by line."""

from __future__ import annotations

import logging
from collections.abc import Callable

from app.engine.drive.logs import Folding


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Log:
    """What is shown of what was said; `look` is what the filter wants to do later."""

    def __init__(self) -> None:
        self.clock, self.shown, self.due = Clock(), list[str](), list[Callable[[], None]]()
        self.folding = Folding(self._tell, self.clock, lambda _, call: self.due.append(call))

    def say(self, at: float, record: logging.LogRecord) -> None:
        self.clock.now = at
        if self.folding.filter(record):
            self._tell(record)

    def look(self, at: float) -> None:
        self.clock.now = at
        due, self.due = self.due, []
        for call in due:
            call()

    def _tell(self, record: logging.LogRecord) -> None:
        self.shown.append(record.getMessage())
