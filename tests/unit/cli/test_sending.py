"""What `flagfall replay` says of topics that stay empty."""

from __future__ import annotations

import pytest

from app.domain.records import TopicPartition
from app.edge.cli.records.sending import echo_empty, empty_topics

FEBRUARY_MS = 1_548_997_200_500  # 2019-02-01T05:00:00.5Z


def test_topics_that_have_never_had_a_record_are_counted_by_partition() -> None:
    ends = {
        TopicPartition(t, p): end for t, p, end in [("b", 0, 7), ("b", 1, 0), ("a", 0, 0), ("a", 1, 0), ("c", 0, 1)]
    }
    assert empty_topics(ends) == {"a": 2, "b": 1}


def test_they_are_named_with_the_command_that_closes_windows_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    echo_empty({"rides.fhv": 4, "rides.green": 1}, FEBRUARY_MS)
    first, second = (line.strip() for line in capsys.readouterr().out.splitlines())
    assert first.startswith("no record yet in rides.fhv (4 partitions), rides.green (1 partition): windows stay open")
    assert second == "flagfall advance --to 2019-02-01T05:00:01+00:00"


def test_nothing_is_said_where_none_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    echo_empty({}, FEBRUARY_MS)
    assert capsys.readouterr().out == ""
