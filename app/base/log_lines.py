"""`FLAGFALL_LOG_FORMAT=json`: what is logged as one JSON object a line, for programs that gather logs.

handler.setFormatter(JsonLines(application="flagfall", worker="http://127.0.0.1:18081"))
"""

from __future__ import annotations

import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import orjson

from app.base.traces import known_trace

FACTS = ("trace_id", "method", "route", "status", "problem")
"""What records may be given as `extra`, and lines then have as fields of their own."""

log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """A record as JSON, whoever logged it: `time` (UTC), `level`, `logger`, `message`, where they came from, and of
    `FACTS` and `exception` what there is. A record that is made for a request has the request's `trace_id`."""

    def __init__(self, **origin: str) -> None:
        super().__init__()
        self._origin = origin

    def format(self, record: logging.LogRecord) -> str:
        trace = known_trace()
        line: dict[str, Any] = {
            "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **self._origin,
            **({} if trace is None else {"trace_id": trace.id}),
            **{name: getattr(record, name) for name in FACTS if hasattr(record, name)},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        return orjson.dumps({name: _text(value) for name, value in line.items()}).decode()


def log_as_json(root: logging.Logger, lines: JsonLines) -> None:
    """From now on: what is logged, warnings, and errors that nobody caught. Where no handler is, one is made."""
    if not root.handlers:
        root.addHandler(logging.StreamHandler())
    for handler in root.handlers:
        handler.setFormatter(lines)
    logging.captureWarnings(capture=True)
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread


def logs_json() -> bool:
    """Whether this process does."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger().handlers)


def _text(value: Any) -> Any:
    """Without lone surrogates, which stand for bytes of names that are no text, and are none in JSON."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.critical("ends by an error that nobody expected", exc_info=(kind, error, trace))


def _uncaught_in_thread(told: threading.ExceptHookArgs) -> None:
    if told.exc_value is not None:
        log.error("a thread ended by an error", exc_info=(told.exc_type, told.exc_value, told.exc_traceback))
