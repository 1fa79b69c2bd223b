"""What a worker's log leaves out, and what it never does."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

import pytest

from app.domain.errors import DefinitionError
from app.engine.drive.logs import Folding, InWords
from tests.support.captured_log import Clock, Log

pytestmark = pytest.mark.unit


def said(name: str, text: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, "", 1, text, args, None)


def test_what_a_client_says_again_and_again_is_told_when_it_begins_once_a_minute_and_when_it_ends() -> None:
    log = Log()
    for second in range(150):
        if second in {60, 120}:
            log.look(second)
        log.say(second, said("aiokafka.client", "Unable to connect to node %s", second))
    log.look(180)
    log.look(240)
    assert log.shown == [
        "Unable to connect to node 0",
        "Unable to connect to node 60 (and 59 more of the kind in between)",
        "Unable to connect to node 120 (and 59 more of the kind in between)",
        "not said any more, after 150 times in 149 s: aiokafka.client: Unable to connect to node 0",
    ]
    assert log.due == []
    log.say(300, said("aiokafka.client", "Unable to connect to node %s", 7))
    assert log.shown[-1] == "Unable to connect to node 7"


def test_what_was_said_once_is_not_told_again_when_it_is_over() -> None:
    log = Log()
    log.say(0, said("aiokafka.client", "once"))
    log.look(60)
    assert (log.shown, log.due) == (["once"], [])


def test_lines_that_differ_in_numbers_are_of_one_kind() -> None:
    log = Log()
    log.say(0, said("faust.transport", "commit of TP(partition=1, offset=7) took 3.5 s at 0x7f3a"))
    log.say(1, said("faust.transport", "commit of TP(partition=2, offset=9) took 4 s at 0x7faa"))
    assert log.shown == ["commit of TP(partition=1, offset=7) took 3.5 s at 0x7f3a"]


def test_other_words_and_our_own_lines_are_always_shown() -> None:
    log = Log()
    log.say(0, said("aiokafka.client", "one"))
    log.say(0, said("aiokafka.client", "another"))
    for _ in range(2):
        log.say(0, said("app.engine.drive.runner", "the same"))
    assert log.shown == ["one", "another", "the same", "the same"]


def test_what_is_told_in_the_end_comes_through_the_handler_it_was_folded_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whose filters it passes too: it is no library's line."""
    handler = logging.StreamHandler(sys.stdout)
    clock, due = Clock(), list[Callable[[], None]]()
    handler.addFilter(Folding(handler.handle, clock, lambda _, call: due.append(call)))
    for _ in range(2):
        handler.handle(said("aiokafka.client", "away"))
    clock.now = 60.0
    due[0]()
    assert capsys.readouterr().out.splitlines() == [
        "away",
        "not said any more, after 2 times in 0 s: aiokafka.client: away",
    ]


def test_an_error_in_words_that_was_met_for_a_request_is_told_each_time_under_its_trace() -> None:
    """Else who looks for the second trace would find nothing; what is alike is folded all the same."""
    in_words, log = InWords(), Log()
    for at, trace in enumerate(("4bf9", "a3ce")):
        record = said("app.edge.http.problems", "500 internal-error: trace %s", trace)
        error = DefinitionError("view 'x' is not usable", ["it has no groups"])
        record.exc_info, record.trace_id = (type(error), error, None), trace
        assert in_words.filter(record)
        assert record.exc_info is None
        log.say(at, record)
    first, second = log.shown
    assert first.startswith("500 internal-error: trace 4bf9: view 'x' is not usable")
    assert second.startswith("500 internal-error: trace a3ce: view 'x' is not usable")


def test_a_crash_that_is_told_beside_any_handler_has_no_traceback_of_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(InWords())
    log = logging.Logger("mode")
    log.addHandler(handler)
    log.exception("Crashed reason=%r", RuntimeError("fail-point"))
    assert capsys.readouterr().out.splitlines() == ["Crashed reason=RuntimeError('fail-point')"]
