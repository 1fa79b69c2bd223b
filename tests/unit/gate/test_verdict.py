"""What a run of tests came to: what makes it red, and what gets a second chance."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from app.base.services.errors import StartFailed
from scripts.gate.verdict import Failure, read_told
from tests.support.machine.waiting import NotInTime
from tests.support.told import PATIENTLY, facts_of


def told(*events: dict[str, object]) -> list[str]:
    return [json.dumps(event) for event in events]


def failed(test: str, *, not_in_time: bool) -> dict[str, object]:
    return {"test": test, "event": "failed", "phase": "call", "not_in_time": not_in_time, "error": f"{test} failed"}


def whole(*events: dict[str, object], tests: int | None = None) -> list[str]:
    """Of a run in which every test came to its end."""
    names = sorted({str(event["test"]) for event in events})
    ended = [{"test": name, "event": "ended"} for name in names]
    return told({"event": "collected", "tests": tests or len(names)}, *events, *ended)


def test_what_came_too_late_is_tried_again() -> None:
    found = read_told(whole(failed("a", not_in_time=True), failed("b", not_in_time=True)))
    assert [failure.test for failure in found.second_chances] == ["a", "b"]
    assert found.red == []


def test_a_difference_leaves_no_second_chance_to_anybody() -> None:
    found = read_told(whole(failed("a", not_in_time=True), failed("b", not_in_time=False)))
    assert found.second_chances == []
    assert [failure.test for failure in found.red] == ["b"]


def test_four_that_come_too_late_are_no_chance() -> None:
    found = read_told(whole(*(failed(name, not_in_time=True) for name in "abcd")))
    assert found.second_chances == []


def test_a_fixture_that_came_too_late_once_is_one_chance() -> None:
    late = [failed(name, not_in_time=True) | {"phase": "setup", "error": "not within 5 s: broker"} for name in "abcde"]
    assert len(read_told(whole(*late)).second_chances) == len(late)


def test_a_run_that_broke_off_leaves_no_second_chance() -> None:
    found = read_told(whole(failed("a", not_in_time=True), tests=2))
    assert not found.is_whole
    assert found.second_chances == []


def test_what_is_tried_again_must_have_passed() -> None:
    late = Failure("a", "", True)
    assert not read_told(told({"test": "a", "event": "ended"})).have_passed([late])  # skipped, say
    assert read_told(told({"test": "a", "event": "passed"})).have_passed([late])
    later = told({"test": "a", "event": "passed"}, failed("a", not_in_time=True) | {"phase": "teardown"})
    assert not read_told(later).have_passed([late])


def test_a_test_that_differs_in_any_phase_is_red() -> None:
    both = told(failed("a", not_in_time=True), failed("a", not_in_time=False))
    assert [failure.test for failure in read_told(both).red] == ["a"]
    assert [failure.test for failure in read_told(both[::-1]).red] == ["a"]


def test_what_began_and_did_not_end_is_where_a_run_hung() -> None:
    lines = told({"test": "a", "event": "began"}, {"test": "b", "event": "began"}, {"test": "a", "event": "ended"})
    assert read_told(lines).running == ["b"]


@pytest.mark.parametrize(
    ("level", "error", "expected"),
    [
        ("end_to_end", NotInTime("not within 5 s"), True),
        ("integration", StartFailed("silent"), True),
        ("end_to_end", AssertionError("1 != 2"), False),
        ("end_to_end", TimeoutError("of the product's own"), False),
        ("agreement", NotInTime("not within 5 s"), False),
        ("batch", StartFailed("silent"), False),
    ],
)
def test_only_waiting_in_vain_on_real_parts_is_forgiven(level: str, error: Exception, expected: bool) -> None:
    assert facts_of(level, error, "said")["not_in_time"] is expected
    assert (level in PATIENTLY) or not expected


def raised(program: Callable[[], None]) -> BaseException:
    try:
        program()
    except BaseException as error:
        return error
    raise ValueError("nothing was raised")


def in_the_way_of(masked: Exception) -> BaseException:
    def program() -> None:
        try:
            raise masked
        finally:
            raise NotInTime("it did not stop")

    return raised(program)


def because_of(cause: Exception) -> BaseException:
    def program() -> None:
        raise NotInTime("not within 5 s") from cause

    return raised(program)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (in_the_way_of(AssertionError("1 != 2")), False),
        (in_the_way_of(KeyError("zone")), False),
        (in_the_way_of(NotInTime("not within 5 s")), True),
        (because_of(AssertionError("1 != 2")), False),
        (because_of(ConnectionError("refused")), True),
        (ExceptionGroup("both", [NotInTime("late"), AssertionError("1 != 2")]), False),
        (ExceptionGroup("both", [NotInTime("late"), NotInTime("late, too")]), True),
    ],
    ids=str,
)
def test_a_difference_is_not_forgiven_for_what_was_raised_over_it(error: BaseException, expected: bool) -> None:
    assert facts_of("end_to_end", error, "said")["not_in_time"] is expected


@pytest.mark.parametrize("torn", ['{"test": "c", "ev', '{"test": "c", "ev{"event": "collected", "tests": 2}', "\0\0"])
def test_a_line_that_was_not_written_to_its_end_leaves_the_run_unwhole(torn: str) -> None:
    """As a full disk has it: what stands before the line counts, and nothing is known of what came after."""
    lines = whole(failed("a", not_in_time=True), failed("b", not_in_time=False))
    found = read_told([*lines, torn, *told(failed("d", not_in_time=False))])
    assert (found.is_torn, found.is_whole) == (True, False)
    assert set(found.failures) == {"a", "b"}


def test_what_is_run_again_in_a_new_process_runs_once() -> None:
    began = {"test": "a", "event": "began"}
    assert read_told(told(began, began)).running == ["a"]


def test_a_test_that_took_its_process_with_it_failed_and_runs_no_more() -> None:
    crashed = failed("a", not_in_time=False) | {"phase": "???", "error": "worker 'gw0' crashed"}
    found = read_told(told({"test": "a", "event": "began"}, crashed))
    assert (found.running, [failure.test for failure in found.red]) == ([], ["a"])
