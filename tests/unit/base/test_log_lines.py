"""Lines of the log as JSON: one object each, whatever is in them, with the trace of the request they are made for."""

from __future__ import annotations

import contextvars
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from app.base.log_lines import JsonLines
from app.base.traces import begin_trace
from tests.support.machine.waiting import patient

pytestmark = pytest.mark.unit
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What a logger of the test's own writes."""
    text, logger = io.StringIO(), logging.getLogger("own")
    handler = logging.StreamHandler(text)
    handler.setFormatter(JsonLines(application="flagfall"))
    logger.addHandler(handler)
    yield text
    logger.removeHandler(handler)


def _only(written: io.StringIO) -> dict[str, Any]:
    (line,) = written.getvalue().splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_line_says_when_how_grave_who_and_what(written: io.StringIO) -> None:
    outside_of_any_trace = contextvars.Context()
    outside_of_any_trace.run(logging.getLogger("own").warning, "%d of\n%s", 3, "zoné")
    line = _only(written)
    assert line.pop("time").endswith("Z")
    assert line == {"level": "WARNING", "logger": "own", "message": "3 of\nzoné", "application": "flagfall"}


def test_a_name_of_bytes_that_are_no_text_is_told_all_the_same() -> None:
    record = logging.makeLogRecord({"msg": "no %s", "args": ("\udcff",)})
    assert json.loads(JsonLines().format(record))["message"] == "no \\udcff"


def test_an_instant_is_that_of_the_record() -> None:
    record = logging.makeLogRecord({"msg": "x", "created": 1_706_702_400.25})
    assert json.loads(JsonLines().format(record))["time"] == "2024-01-31T12:00:00.250000Z"


def test_a_traceback_is_text_of_its_line(written: io.StringIO) -> None:
    try:
        raise ZeroDivisionError("unforeseen")
    except ZeroDivisionError:
        logging.getLogger("own").exception("failed")
    line = _only(written)
    assert line["message"] == "failed"
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ZeroDivisionError: unforeseen")


def test_what_is_logged_for_a_request_has_its_trace_and_nothing_else_has(written: io.StringIO) -> None:
    def answer() -> None:
        begin_trace(f"00-{TRACE}-00f067aa0ba902b7-01")
        logging.getLogger("own").error("of a request")

    contextvars.Context().run(answer)
    contextvars.Context().run(logging.getLogger("own").error, "of none")
    of_request, of_none = map(json.loads, written.getvalue().splitlines())
    assert of_request["trace_id"] == TRACE
    assert "trace_id" not in of_none


def test_facts_of_a_record_are_fields(written: io.StringIO) -> None:
    logging.getLogger("own").error("x", extra={"route": "/readyz", "status": 503, "secret": "s"})
    line = _only(written)
    assert (line["route"], line["status"]) == ("/readyz", 503)
    assert "secret" not in line


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        ("raise SystemError('of the process')", "SystemError: of the process"),
        ("import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()", "ZeroDivisionError"),
        ("import warnings; warnings.warn('is old')", "is old"),
        ("import logging; logging.getLogger('any').warning('is said')", "is said"),
    ],
)
def test_all_that_a_process_writes_by_itself_is_json(fails: str, told: str) -> None:
    program = (
        "import logging; from app.base.log_lines import JsonLines, log_as_json; "
        f"log_as_json(logging.getLogger(), JsonLines()); {fails}"
    )
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=patient(60))
    (line,) = map(json.loads, done.stderr.splitlines())
    assert told in line["message"] + line.get("exception", "")
