"""A broker that was frozen and goes on leads nothing until its controller counts it again: nobody ends of that."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aiokafka import AIOKafkaConsumer

from app.base.kafka.clients import aiokafka_options
from app.base.kafka.cluster import Cluster
from app.base.services import kafka
from app.base.settings import Settings
from app.domain.records import TopicPartition
from app.engine.drive.kafka.prepared import prepare
from app.rides.ride import RIDES
from tests.support.machine.closing import at_rest
from tests.support.machine.cluster import write_rides
from tests.support.machine.services import frozen
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import environment_of
from tests.support.machine.world import assert_exact, covers, ready_worker, tasks_of, worker

AT_ONCE, TIMES = 4, 30
ASKS_AGAIN = "asking again"
PLACES = [TopicPartition(RIDES.topics[0].name, p) for p in range(4)]
ASKS_FOR_MEMBERS = """
from app.base.kafka.group_members import Members
from app.base.settings import Settings
settings = Settings.load()
members = Members(settings.kafka, settings.app_id)
print(members(), flush=True)
input()
for _ in range(20):
    members()
print("lives", flush=True)
"""


def test_whoever_asks_a_broker_that_goes_on_is_answered(world: Settings) -> None:
    """The one who asked while it was frozen for longer than its controller waits, and those who ask when it goes on."""
    with ThreadPoolExecutor(AT_ONCE + 1) as pool, _asking_for_members(world) as asked:
        with frozen(world, kafka.NAME):
            assert asked.stdout.readline() == "[]\n"
            ends = [pool.submit(_log_ends, world) for _ in range(AT_ONCE)]
            begun = pool.submit(lambda: asyncio.run(_brokers_told(world)))
        assert [one.result() for one in ends] == [TIMES] * AT_ONCE
        assert begun.result() == [1] * TIMES
        assert asked.communicate("go on\n")[0] == "lives\n"
        assert asked.returncode == 0


def test_a_worker_that_starts_while_the_broker_is_frozen_serves_when_it_goes_on(
    world: Settings, tmp_path: Path
) -> None:
    write_rides(world, 0, 600)
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(ready_worker(world, tmp_path, "first"))
        wait_for(lambda: covers(world, first) and at_rest(world), "nothing is under way", [first])
        with frozen(world, kafka.NAME):
            second = stack.enter_context(worker(world, tmp_path, "second"))
            wait_for(lambda: ASKS_AGAIN in second.log.read_text(), "the second one is not answered", [second])
        both = [first, second]
        wait_for(lambda: len(tasks_of(first)) == len(tasks_of(second)) == 2, "they share", both)
        write_rides(world, 600, 600)  # not sooner: a librdkafka that is told of no brokers forgets all it knew (#5301)
        wait_for(lambda: covers(world, first) and covers(world, second), "every ride is covered", both)
        assert_exact(world, both)


@contextlib.contextmanager
def _asking_for_members(world: Settings) -> Iterator[subprocess.Popen[str]]:
    """A process that has asked who is in the group, tells it, and asks again when it is told to."""
    asked = subprocess.Popen(
        [sys.executable, "-c", ASKS_FOR_MEMBERS],
        env=environment_of(world) | {"PYTHONPATH": ":".join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield asked
    finally:
        asked.kill()
        asked.wait()


def _log_ends(world: Settings) -> int:
    """How often a new client has told them."""
    return sum(len(Cluster(world.kafka).log_ends(PLACES, committed=False)) == len(PLACES) for _ in range(TIMES))


async def _brokers_told(world: Settings) -> list[int]:
    """How many brokers new members of a group begin with."""
    told = []
    for _ in range(TIMES):
        consumer = AIOKafkaConsumer(**aiokafka_options(world.kafka), group_id=world.app_id)
        prepare(consumer._client)
        async with consumer:
            told.append(len(consumer._client.cluster.brokers()))
    return told
