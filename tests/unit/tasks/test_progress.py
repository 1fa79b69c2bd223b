"""What counts as a stall, and as which: looks go in, one by one, at made-up times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.domain.records import TopicPartition
from app.engine.drive.standing import Doing, GroupStanding, ProgressSample
from app.engine.drive.watch.progress import Cause, Ends, GroupProgress, Stall, worst

GREEN, YELLOW = TopicPartition("rides.green", 0), TopicPartition("rides.yellow", 0)
AT_WORK = ProgressSample("rides", GroupStanding.READY, 0, {YELLOW: 10, GREEN: 0})


def ends(yellow: int, green: int = 0, *, readable: Mapping[TopicPartition, int] | None = None) -> Ends:
    written = {YELLOW: yellow, GREEN: green}
    return Ends(written, written if readable is None else readable)


@pytest.fixture
def progress() -> GroupProgress:
    return GroupProgress()


def at(look: ProgressSample, position: int) -> ProgressSample:
    return replace(look, positions={YELLOW: position, GREEN: 0})


def test_a_task_at_the_end_of_its_logs_does_not_stall_however_long(progress: GroupProgress) -> None:
    for now in range(0, 10_000, 1_000):
        assert progress.stalls(AT_WORK, ends(10), now) == []


def test_a_task_that_moves_is_behind_and_never_for_long(progress: GroupProgress) -> None:
    for now in range(0, 100, 5):
        (stall,) = progress.stalls(at(AT_WORK, 10 + now), ends(1_000), now)
        assert stall.seconds == 0


def test_the_time_runs_from_when_it_was_first_seen_behind(progress: GroupProgress) -> None:
    """0: at the end   100: behind   107: behind, unmoved"""
    progress.stalls(AT_WORK, ends(10), 0)
    progress.stalls(AT_WORK, ends(11), 100)
    (stall,) = progress.stalls(AT_WORK, ends(12), 107)
    assert stall == Stall("rides", Cause.NOT_FETCHED, 7, YELLOW, "position 10, the log ends at 12")


def test_a_topic_that_moves_does_not_hide_another_that_does_not(progress: GroupProgress) -> None:
    for now in (0, 10):
        stalls = progress.stalls(at(AT_WORK, 10 + now), ends(100, green=5), now)
    assert {stall.where: stall.seconds for stall in stalls} == {YELLOW: 0, GREEN: 10}


@pytest.mark.parametrize(
    ("doing", "cause"),
    [
        (Doing.NOTHING, Cause.NOT_FETCHED),
        (Doing.ASKING_REGISTRY, Cause.REGISTRY),
        (Doing.WRITING, Cause.WRITING),
        (Doing.AWAITING_TURN, Cause.BUDGET),
    ],
)
def test_the_cause_is_what_the_task_is_at(doing: Doing, cause: Cause, progress: GroupProgress) -> None:
    (stall,) = progress.stalls(replace(AT_WORK, doing={YELLOW: doing}), ends(11), 0)
    assert stall.cause is cause


def test_another_producers_open_transaction_is_not_our_fault(progress: GroupProgress) -> None:
    """written: 15, readable: 10, which is where the task stands"""
    (stall,) = progress.stalls(AT_WORK, ends(15, readable={YELLOW: 10, GREEN: 0}), 0)
    assert stall.cause is Cause.FOREIGN_TRANSACTION
    assert not stall.cause.is_ours


def test_a_turn_that_is_long_in_coming_names_the_setting_and_is_nothing_that_a_restart_helps() -> None:
    stall = Stall("rides", Cause.BUDGET, 30, YELLOW)
    assert "FLAGFALL_WORKER_TRANSACTIONS_PER_SECOND" in str(stall)
    assert not stall.cause.is_ours


def test_records_before_an_open_transaction_are_still_ours_to_read(progress: GroupProgress) -> None:
    (stall,) = progress.stalls(AT_WORK, ends(15, readable={YELLOW: 12, GREEN: 0}), 0)
    assert stall.cause is Cause.NOT_FETCHED


def test_a_request_that_must_wait_for_records_not_yet_written_is_no_stall(progress: GroupProgress) -> None:
    assert progress.stalls(replace(AT_WORK, not_due={YELLOW}), ends(11), 0) == []


@pytest.mark.parametrize(
    "standing", [GroupStanding.STARTING, GroupStanding.REBALANCING, GroupStanding.RECOVERING, GroupStanding.LOST]
)
def test_a_group_that_stays_unready_stalls(standing: GroupStanding, progress: GroupProgress) -> None:
    look = ProgressSample("rides", standing)
    progress.stalls(look, ends(10), 0)
    (stall,) = progress.stalls(look, ends(10), 60)
    assert (stall.cause, stall.seconds) == (Cause.NOT_READY, 60)
    assert standing in str(stall)


def test_a_recovery_that_reads_on_does_not_stall_however_long(progress: GroupProgress) -> None:
    for now in range(0, 1_000, 5):
        (stall,) = progress.stalls(ProgressSample("rides", GroupStanding.RECOVERING, recovered=now), ends(10), now)
        assert stall.seconds == 0


def test_a_group_that_is_being_stopped_does_not_stall(progress: GroupProgress) -> None:
    assert progress.stalls(ProgressSample("rides", GroupStanding.STOPPING), None, 0) == []


def test_a_silent_broker_is_the_cause_whatever_the_standing(progress: GroupProgress) -> None:
    progress.stalls(AT_WORK, None, 0)
    (stall,) = progress.stalls(replace(AT_WORK, standing=GroupStanding.LOST), None, 20)
    assert (stall.cause, stall.seconds) == (Cause.BROKER_SILENT, 20)


def test_a_silent_answerer_is_no_stall_while_records_still_come(progress: GroupProgress) -> None:
    """The question goes to a broker that is down; the task's own leaders are not."""
    for now in range(0, 100, 10):
        (stall,) = progress.stalls(at(AT_WORK, now), None, now)
        assert stall.seconds == 0


def test_a_stall_outlasts_a_silence_of_the_broker(progress: GroupProgress) -> None:
    """Not fetched since 0, no answer at 10, answers again at 20 and still not fetched."""
    progress.stalls(AT_WORK, ends(11), 0)
    progress.stalls(AT_WORK, None, 10)
    (stall,) = progress.stalls(AT_WORK, ends(11), 20)
    assert stall.seconds == 20


def test_what_was_caught_up_begins_anew(progress: GroupProgress) -> None:
    progress.stalls(AT_WORK, ends(11), 0)
    progress.stalls(AT_WORK, ends(10), 50)
    (stall,) = progress.stalls(AT_WORK, ends(11), 100)
    assert stall.seconds == 0


def test_the_worst_is_the_longest_that_a_restart_may_help() -> None:
    registry, short, long = (
        Stall("rides", cause, seconds)
        for cause, seconds in ((Cause.REGISTRY, 99), (Cause.WRITING, 5), (Cause.NOT_FETCHED, 9))
    )
    assert worst([short, registry, long]) is long
    assert worst([registry]) is registry
    assert worst([]) is None


def test_a_registry_that_knows_nothing_of_many_ids_is_not_called_silent() -> None:
    """It answers about each that it has no such schema; thousands of them take their time."""
    assert "answer" not in str(Stall("rides", Cause.REGISTRY, 30))
    assert "schemas" in str(Stall("rides", Cause.REGISTRY, 30))
