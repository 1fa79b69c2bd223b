"""Two live workers never give out one address: the second says so and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from threading import Barrier, BrokenBarrierError
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from app.base.kafka import group_members
from app.base.kafka.group_members import Member, seen_as
from app.base.setting_groups import KafkaSettings, WorkerSettings
from app.base.settings import Settings
from app.engine.drive.watch.own_address import AddressTaken, Here, OwnAddress, client_id_of, here_of, namesakes

URL = "http://127.0.0.1:18081"
SELF = Here(URL, f"{URL}#127.0.0.1:18081#mine", only_at="10.0.0.1")
ELSEWHERE = Member(f"{URL}#other", "10.0.0.2")
OWN = Member(SELF.client_id, "10.0.0.1")


class Asked:
    """A group that is asked: each answer in turn, the last for ever."""

    def __init__(self, *answers: list[Member]) -> None:
        self._answers: Iterator[list[Member]] = iter(answers)
        self._last: list[Member] = []
        self.times = 0

    def __call__(self) -> list[Member]:
        self.times += 1
        self._last = next(self._answers, self._last)
        return self._last


class Ends:
    """What a worker was ended with."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []

    async def __call__(self, error: BaseException) -> None:
        self.errors.append(error)


def checked(asked: Asked, ends: Ends | None = None, *, patience_seconds: float = 0) -> OwnAddress:
    return OwnAddress(SELF, asked, patience_seconds=patience_seconds, end=ends or Ends(), poll_seconds=0)


@pytest.mark.parametrize(
    "member",
    [
        OWN,
        Member("http://127.0.0.1:18082#other", "10.0.0.2"),
        Member("faust-0.15.3", "10.0.0.2"),
        Member(URL, "10.0.0.2"),
        Member(f"{URL}#127.0.0.1:18081#killed", "10.0.0.1"),
    ],
    ids=["itself", "another port", "no worker", "one without a mark", "who had this machine's port before"],
)
def test_others_are_left_alone(member: Member) -> None:
    assert namesakes(SELF, [member]) == []
    checked(Asked([member])).require()


@pytest.mark.parametrize("told", ["#127.0.0.2:18081#other", "#other"], ids=["another address", "an older release"])
def test_who_may_listen_beside_it_on_this_machine_is_no_dead_predecessor(told: str) -> None:
    """One port at two addresses of a machine is two places."""
    assert namesakes(SELF, [Member(URL + told, "10.0.0.1")])


def test_a_port_that_others_on_this_machine_may_give_out_too_is_no_excuse() -> None:
    published = here_of(Settings.load(worker={"advertised_url": "http://localhost:28081"}), "x")
    assert published.only_at is None
    assert namesakes(published, [Member("http://localhost:28081#other", "127.0.0.1")])


def test_a_worker_that_is_back_under_its_name_is_not_in_its_own_way() -> None:
    named = Here(URL, SELF.client_id, instance_id="one")
    assert namesakes(named, [ELSEWHERE._replace(instance_id="one")]) == []
    assert namesakes(named, [ELSEWHERE._replace(instance_id="two")])


def test_a_live_namesake_is_told_with_its_place_and_what_to_set() -> None:
    with pytest.raises(AddressTaken, match=rf"at 10\.0\.0\.2, .*{URL}.* FLAGFALL_WORKER_ADVERTISED_URL"):
        checked(Asked([ELSEWHERE])).require()


def test_a_dead_namesake_is_waited_for() -> None:
    asked = Asked([ELSEWHERE], [ELSEWHERE], [])
    checked(asked, patience_seconds=600).require()
    assert asked.times == 3


async def test_of_two_that_started_at_one_moment_the_one_that_sees_the_other_ends() -> None:
    async with looking(Asked([], [ELSEWHERE], [ELSEWHERE, OWN])) as ends:
        await until(lambda: ends.errors)
        assert isinstance(ends.errors[0], AddressTaken)


async def test_a_worker_alone_at_its_address_stops_asking_once_it_is_in_the_group() -> None:
    asked = Asked([], [OWN])
    async with looking(asked) as ends:
        await until(lambda: asked.times == 2)
    assert (ends.errors, asked.times) == ([], 2)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


@asynccontextmanager
async def looking(asked: Asked) -> Any:
    ends = Ends()
    async with checked(asked, ends):
        yield ends


def test_two_threads_ask_through_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that a second one replaces is gone while its question is under way, and never answers."""
    made: list[MagicMock] = []
    both = Barrier(2)

    def make(_: KafkaSettings) -> MagicMock:
        made.append(MagicMock())
        with suppress(BrokenBarrierError):
            both.wait(0.2)  # gives a second thread the time to make one too
        made[-1].describe_consumer_groups.return_value = {"g": answered()}
        return made[-1]

    monkeypatch.setattr(group_members, "admin_client", make)
    members = group_members.Members(KafkaSettings(bootstrap_server="127.0.0.1:1"), "g")
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: members(), range(2))) == [[], []]
    assert len(made) == 1


def test_a_client_whose_coordinator_is_silent_is_given_up_before_it_gives_up_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """librdkafka ends the process where a coordinator answers a question that it has given up by itself."""
    answers = [Future(), answered(), answered()]
    made: list[MagicMock] = []

    def make(_: KafkaSettings) -> MagicMock:
        made.append(MagicMock(__len__=lambda _: 0))
        made[-1].describe_consumer_groups.side_effect = lambda *_, **__: {"g": answers.pop(0)}
        return made[-1]

    monkeypatch.setattr(group_members, "admin_client", make)
    monkeypatch.setattr(group_members, "ANSWER_SECONDS", 0)
    members = group_members.Members(KafkaSettings(bootstrap_server="127.0.0.1:1"), "g")
    with pytest.raises(group_members.GroupSilent, match="no answer within"):
        members.told()
    assert [members(), members.told()] == [[], []]
    assert [client.describe_consumer_groups.call_count for client in made] == [1, 2]
    (silent, _) = made
    assert silent.describe_consumer_groups.call_args.kwargs["request_timeout"] >= 3_600


def answered() -> Future[Any]:
    answer: Future[Any] = Future()
    answer.set_result(SimpleNamespace(members=[]))
    return answer


def test_every_process_has_a_client_id_of_its_own_that_holds_its_address() -> None:
    first, second = (client_id_of(WorkerSettings()) for _ in range(2))
    assert first != second
    assert first.rpartition("#")[0] == second.rpartition("#")[0] == f"{URL}#127.0.0.1:18081"


@pytest.mark.parametrize("server", ["127.0.0.1:9092", "127.0.0.1:9092,two:9092"])
def test_the_broker_sees_this_machine_at_the_address_that_leads_to_it(server: str) -> None:
    assert seen_as(KafkaSettings(bootstrap_server=server)) == "127.0.0.1"
    assert seen_as(KafkaSettings(bootstrap_server=f"{64 * 'a'}.b:9092")) is None
