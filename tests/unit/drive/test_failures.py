"""What is said of a task that fails again and again, over the lives of its workers."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError

from app.base.kafka.cluster import NotNow
from app.engine.core.batch import Batch
from app.engine.drive.standing import Stood
from app.engine.drive.watch.failures import Failures
from tests.support.material.histories import TOPIC_NAMES
from tests.support.tasks.task_batches import PARTITION, batch_of

YELLOW, GREEN = TOPIC_NAMES[:2]
TOO_LARGE = MessageSizeTooLargeError()


@pytest.fixture
def loud(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.CRITICAL)
    return caplog


def fail(
    folder: Path, offset: int, error: BaseException = TOO_LARGE, *, records: int = 1, also: tuple[Batch, ...] = ()
) -> None:
    """A new worker, which takes a batch at that offset and fails."""
    folded = [batch_of(YELLOW, [b"value"] * records, base=offset), *also]
    note(folder, error, Stood(folded, [], {YELLOW: offset, GREEN: 5}))


def note(folder: Path, error: BaseException, stood: Stood) -> None:
    Failures(folder, "app").note("rides", PARTITION, error, stood)


def test_the_third_start_that_fails_at_the_same_record_names_it(tmp_path: Path, loud: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        fail(tmp_path, 41)
    assert loud.messages == []
    fail(tmp_path, 41)
    (said,) = loud.messages
    assert "has failed 3 times at the same place with MessageSizeTooLargeError" in said
    assert f"the record of {YELLOW}-{PARTITION} at offset 41." in said
    assert "docs/operations.md" in said


def test_of_a_batch_it_is_said_how_far_it_reaches(tmp_path: Path, loud: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        fail(tmp_path, 41, records=10)
    assert "at offset 41, or one behind it up to 50." in loud.messages[0]


def test_of_several_topics_the_one_that_has_not_moved_is_named(tmp_path: Path, loud: pytest.LogCaptureFixture) -> None:
    for offset in (7, 8, 9):
        fail(tmp_path, 41, also=(batch_of(GREEN, [b"value"], base=offset),))
    assert YELLOW in loud.messages[0]
    assert GREEN not in loud.messages[0]


def test_another_place_or_another_failure_begins_anew(tmp_path: Path, loud: pytest.LogCaptureFixture) -> None:
    for offset, error in ((1, TOO_LARGE), (1, TOO_LARGE), (2, TOO_LARGE), (2, ValueError()), (2, TOO_LARGE)):
        fail(tmp_path, offset, error)
    assert loud.messages == []


def test_a_silent_cluster_is_no_records_fault(tmp_path: Path, loud: pytest.LogCaptureFixture) -> None:
    for error in (KafkaConnectionError(), NotNow("rides.yellow-0")):
        for _ in range(3):
            fail(tmp_path, 41, error)
    assert loud.messages == []


def test_of_several_topics_that_have_not_moved_each_is_named(tmp_path: Path, loud: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        fail(tmp_path, 41, records=10, also=(batch_of(GREEN, [b"value"], base=7),))
    named = f"one of the records of {GREEN}-{PARTITION} at offset 7, of {YELLOW}-{PARTITION} at offsets 41 to 50."
    assert named in loud.messages[0]


def test_where_no_record_is_none_is_named(tmp_path: Path, loud: pytest.LogCaptureFixture) -> None:
    """Of one topic there were only marks of transactions, and of another they stood before the record."""
    marks, behind = batch_of(GREEN, [], base=7), batch_of(YELLOW, [b"value"], base=43)
    for _ in range(3):
        note(tmp_path, TOO_LARGE, Stood([marks, replace(behind, base_offset=41)], [], {YELLOW: 41, GREEN: 7}))
    assert f"with MessageSizeTooLargeError: the record of {YELLOW}-{PARTITION} at offset 43." in loud.messages[0]


def test_a_task_that_was_at_something_else_tells_which_record_is_next(
    tmp_path: Path, loud: pytest.LogCaptureFixture
) -> None:
    ahead = [batch_of(YELLOW, [b"value"] * 5, base=41)]
    for told in (ahead, [], ahead):  # one may not have been fetched by then
        note(tmp_path, ValueError(), Stood([], told, {YELLOW: 41, GREEN: 0}))
    (said,) = loud.messages
    assert f"none was being folded, next is the record of {YELLOW}-{PARTITION} at offset 41" in said
    assert GREEN not in said


def test_a_task_that_has_read_all_tells_that_no_record_is_next(tmp_path: Path, loud: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        note(tmp_path, ValueError(), Stood([], [], {YELLOW: 41, GREEN: 0}))
    assert "with ValueError: no record was being folded, and none is next." in loud.messages[0]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"kind": 1}', '{"kind": "a", "times": "x", "places": {}}'])
def test_a_damaged_file_counts_as_none(tmp_path: Path, loud: pytest.LogCaptureFixture, content: str) -> None:
    (tmp_path / f"app-rides-{PARTITION}.json").write_text(content)
    for _ in range(2):
        fail(tmp_path, 41)
    assert loud.messages == []
    fail(tmp_path, 41)
    assert len(loud.messages) == 1


def test_a_folder_that_cannot_be_made_is_passed_over(tmp_path: Path, loud: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    for _ in range(3):
        fail(tmp_path / "file" / "failures", 41)
    assert loud.messages == []
