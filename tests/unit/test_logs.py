"""What a worker's log leaves out, and what it never does."""

from __future__ import annotations

import logging

import pytest

from app.engine.drive.logs import Sparing

pytestmark = pytest.mark.unit


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def said(name: str, text: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, "", 1, text, args, None)


def test_what_a_client_says_again_and_again_is_shown_once_in_a_while_and_counted() -> None:
    clock = Clock()
    sparing = Sparing(every_seconds=10, clock=clock)
    shown = []
    for second in range(25):
        clock.now = float(second)
        record = said("aiokafka.client", "Unable to connect to node %s", second)
        if sparing.filter(record):
            shown.append(record.getMessage())
    assert shown == [
        "Unable to connect to node 0",
        "Unable to connect to node 10 (and 9 more of the kind since)",
        "Unable to connect to node 20 (and 9 more of the kind since)",
    ]


def test_other_words_and_our_own_lines_are_always_shown() -> None:
    sparing = Sparing(every_seconds=10, clock=Clock())
    assert sparing.filter(said("aiokafka.client", "one"))
    assert sparing.filter(said("aiokafka.client", "another"))
    for _ in range(2):
        assert sparing.filter(said("app.engine.drive.runner", "the same"))
