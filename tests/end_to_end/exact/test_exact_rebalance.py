"""One worker more, one less, one stopped, one frozen: no wrong figure is answered, and nothing is counted twice."""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from app.base import names
from app.base.addresses import LOOPBACK
from app.base.settings import Settings
from app.domain.records import TopicPartition
from app.rides.ride import RIDES
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import (
    assert_exact,
    committed_offsets,
    covers,
    markers,
    next_offsets,
    position,
    ready_worker,
    rides_under_way,
    tasks_of,
    worker,
)
from tests.support.truth import cluster_of

ROWS = "/v1/views/vendor_trips/rows"


class Answer(NamedTuple):
    """What a client saw: total count and position of a 200, or another status."""

    status: int
    total: int = 0
    position: dict[str, int] = {}  # noqa: RUF012
    partial: bool = False


def test_one_worker_more_and_one_less_never_answers_a_wrong_figure(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 2_000)
    with (
        ready_worker(world, tmp_path, "first") as first,
        worker(world, tmp_path, "second") as second,
        polled([first, second]) as seen,
        rides_under_way(world, 2_000),
    ):
        both = [first, second]
        wait_for(lambda: _shared(both), "the tasks are shared", both)
        wait_for(lambda: seen[1] != [] and seen[1][-1].status == httpx.codes.OK, "the second answers", both)
        assert second.stop() == 0
        wait_for(lambda: tasks_of(first) == [0, 1, 2, 3], "the first has all tasks again", both)
    with ready_worker(world, tmp_path, "third") as third:
        wait_for(lambda: covers(world, third), "every ride is covered", [third])
        assert_exact(world, [third])
    for answers in seen:
        good = [a for a in answers if a.status == httpx.codes.OK]
        assert good
        assert {a.status for a in answers} <= {httpx.codes.OK, httpx.codes.SERVICE_UNAVAILABLE, 0}
        for before, after in itertools.pairwise(good):
            assert after.total >= before.total
            assert not after.partial
            assert all(after.position[place] >= offset for place, offset in before.position.items())
            assert after.position.keys() == before.position.keys()


def test_a_worker_that_is_told_to_stop_under_load_leaves_nothing_to_read_again(world: Settings, tmp_path: Path) -> None:
    with ready_worker(world, tmp_path, "first") as first, rides_under_way(world, 0):
        began = sum((position(first) or {}).values())
        wait_for(lambda: sum((position(first) or {}).values()) > began + 1_000, "it is at work", [first])
        first.send(signal.SIGTERM)
        assert first.ended() == 0, first.log.read_text()
    left_at = next_offsets(world)
    committed = committed_offsets(world)
    assert {place: committed[place] for place in committed if place in left_at} == {
        place: offset for place, offset in left_at.items() if place in committed
    }
    assert sum(committed.get(place, 0) > 0 for place in left_at) >= 12  # topics without a ride have none
    last = {p: markers(world, p)[-1].sequence for p in range(4)}
    with ready_worker(world, tmp_path, "next") as after:
        wait_for(lambda: covers(world, after), "every ride is covered", [after])
        assert_exact(world, [after])
    for p, sequence in last.items():
        history = markers(world, p)
        assert history[sequence - 1].next_offsets == {t: o for (t, at), o in left_at.items() if at == p}


def test_a_frozen_worker_writes_nothing_when_it_wakes(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 2_000)
    with ready_worker(world, tmp_path, "frozen") as frozen, ready_worker(world, tmp_path, "other") as other:
        both = [frozen, other]
        wait_for(lambda: _shared(both), "the tasks are shared", both)
        with rides_under_way(world, 2_000):
            frozen.send(signal.SIGSTOP)  # while rides are under way, so perhaps inside a transaction
            wait_for(lambda: tasks_of(other) == [0, 1, 2, 3], "the other has taken over", [other])
        wait_for(lambda: covers(world, other), "every ride is covered", [other])
        wait_for(lambda: _closings_are_read(world), "every closing is read", [other])
        before = next_offsets(world)
        assert_exact(world, [other])
        asked = HTTPConnection(LOOPBACK, frozen.port, timeout=patient(30))
        asked.request("GET", ROWS)  # waits for it to wake: what is asked later may find its tasks taken over again
        frozen.send(signal.SIGCONT)
        statuses = [asked.getresponse().status, *_statuses_until_ready(frozen, both)]
        assert statuses[0] == httpx.codes.SERVICE_UNAVAILABLE
        assert set(statuses[:-1]) == {httpx.codes.SERVICE_UNAVAILABLE}
        assert next_offsets(world) == before
        write_rides(world, 40_000, 1_000)
        wait_for(lambda: covers(world, other) and covers(world, frozen), "later rides are covered", both)
        assert_exact(world, both)


@contextmanager
def polled(started: Sequence[Worker]) -> Iterator[list[list[Answer]]]:
    """Asks each worker for the running count again and again; yields what each has answered."""
    seen: list[list[Answer]] = [[] for _ in started]
    stop = threading.Event()

    def poll(one: Worker, answers: list[Answer]) -> None:
        with httpx.Client(timeout=patient(10)) as client:
            while not stop.wait(0.02):
                with suppress(httpx.HTTPError):
                    answers.append(_answer(client.get(one.url + ROWS)))

    polling = [threading.Thread(target=poll, args=pair) for pair in zip(started, seen, strict=True)]
    for thread in polling:
        thread.start()
    try:
        yield seen
    finally:
        stop.set()
        for thread in polling:
            thread.join()


def _answer(got: httpx.Response) -> Answer:
    if not got.is_success:
        return Answer(got.status_code)
    told: dict[str, Any] = got.json()
    assert told["meta"]["next_cursor"] is None
    total = sum(row["count"] for row in told["data"])
    return Answer(got.status_code, total, told["meta"]["position"], told["meta"]["partial"])


def _shared(both: Sequence[Worker]) -> bool:
    tasks = [tasks_of(one) for one in both]
    return all(tasks) and sorted(itertools.chain(*tasks)) == [0, 1, 2, 3]


def _closings_are_read(world: Settings) -> bool:
    """Whether the tasks stand at the ends of the closing topic; never beyond."""
    topic = names.closing_topic(world.app_id, RIDES.name)
    places = [TopicPartition(topic, p) for p in range(world.topics.partitions)]
    at = next_offsets(world)
    ends = cluster_of(world.kafka).log_ends(places, committed=True)
    assert all(at[place] <= end for place, end in ends.items()), (at, ends)
    return all(at[place] >= end for place, end in ends.items())


def _statuses_until_ready(one: Worker, both: list[Worker]) -> list[int]:
    """Status of every answer from now on until the first good one."""
    statuses: list[int] = []

    def good() -> bool:
        with suppress(httpx.HTTPError):
            statuses.append(one.get(ROWS).status_code)
        return statuses[-1:] == [httpx.codes.OK]

    wait_for(good, "the frozen worker answers again", both)
    return statuses
