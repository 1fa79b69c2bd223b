"""A lane writes what it is given once, whoever has it, and answers a key the same after any death."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from os import urandom
from typing import Any

import pytest
from confluent_kafka import Producer

from app.base.kafka.clients import librdkafka_options
from app.base.names import intake_id
from app.base.settings import Settings
from app.edge.intake.failures import BrokerRefuses, NotWritten
from app.edge.intake.lane import OPTIONS, Lane
from app.edge.intake.memory import Memory, MemoryFull
from app.edge.intake.wanted import Keyed, Reply, Wanted, WrittenAt
from app.topics import REMEMBERED_MS
from tests.integration.intake.brought import NARROW, PROBE, narrow
from tests.support.machine.waiting import patient
from tests.support.truth import read

TOPIC = "rides.green"


def wanted(*values: bytes | str, key: str | None = None, digest: str = "d", topic: str = TOPIC) -> Wanted:
    records = [one if isinstance(one, str) else Keyed(b"132", one) for one in values]
    return Wanted(topic, records, key, digest)


@contextmanager
def opened(settings: Settings, *, most_bytes: int = 1_000_000) -> Iterator[Lane]:
    memory = Memory(REMEMBERED_MS, most_bytes)
    lane = Lane(librdkafka_options(settings.kafka), settings.app_id, 1, memory)
    yield lane
    lane.end()


def told(lane: Lane, asked: Wanted) -> Reply:
    return lane.write(asked).result(patient(30))


def written(settings: Settings, topic: str = TOPIC) -> dict[WrittenAt, bytes]:
    return {
        WrittenAt(partition, message.offset()): message.value()
        for partition in range(settings.topics.partitions)
        for message in read(settings, topic, partition)
    }


def test_records_stand_where_they_are_told_and_refused_ones_do_not(taking: Settings) -> None:
    with opened(taking) as lane:
        answer = told(lane, wanted(b"a", "no such field", b"b"))
    first, why, second = answer.outcomes
    assert why == "no such field"
    assert written(taking) == {first: b"a", second: b"b"}


def test_a_key_that_comes_again_is_answered_the_same_and_written_once(taking: Settings) -> None:
    with opened(taking) as lane:
        together = [lane.write(wanted(b"a", key="k")) for _ in range(3)]
        answers = [one.result(patient(30)) for one in together]
        again = told(lane, wanted(b"other", key="k", digest="another"))
    assert answers == [answers[0]] * 3
    assert again == answers[0]
    assert list(written(taking).values()) == [b"a"]


def test_who_takes_a_lane_over_remembers_and_its_former_holder_writes_nothing_more(taking: Settings) -> None:
    with opened(taking) as former:
        before = told(former, wanted(b"a", key="k"))
        with opened(taking) as next_one:
            assert told(next_one, wanted(b"a", key="k")) == before
            told(next_one, wanted(b"b"))
        with pytest.raises(NotWritten, match="fenced by a newer instance"):
            told(former, wanted(b"c", key="c"))
        assert former.has_ended
        with pytest.raises(NotWritten):
            told(former, wanted(b"d"))
    assert sorted(written(taking).values()) == [b"a", b"b"]


def test_what_a_dead_holder_had_not_committed_was_never_there(taking: Settings) -> None:
    options: dict[str, Any] = {**librdkafka_options(taking.kafka), **OPTIONS}
    dead = Producer({**options, "transactional.id": intake_id(taking.app_id, 1)})
    dead.init_transactions(patient(30))
    dead.begin_transaction()
    dead.produce(TOPIC, b"half", b"132")
    assert dead.flush(patient(30)) == 0
    with opened(taking) as lane:
        told(lane, wanted(b"a", key="k"))
    assert list(written(taking).values()) == [b"a"]


def test_a_key_that_could_not_be_remembered_writes_nothing(taking: Settings) -> None:
    with opened(taking, most_bytes=1) as lane:
        told(lane, wanted(b"a", key="first"))
        with pytest.raises(MemoryFull, match="1 keys are remembered"):
            told(lane, wanted(b"b", key="second"))
        told(lane, wanted(b"c"))
    assert sorted(written(taking).values()) == [b"a", b"c"]


def test_a_record_that_its_topic_does_not_take_is_refused_and_those_beside_it_are_written(taking: Settings) -> None:
    narrow(taking)
    large = urandom(60_000)  # which no codec makes smaller
    with opened(taking) as lane:
        told(lane, wanted(b"opened"))
        small, refused = dict[bytes, Future[Reply]](), list[Future[Reply]]()
        for number in range(40):
            small[b"%d" % number] = lane.write(wanted(b"%d" % number, key=f"{number}"))
            if number % 10 == 5:
                refused += [lane.write(wanted(large, topic=NARROW)), lane.write(wanted(b"s", large, topic=NARROW))]
        for one in refused:
            with pytest.raises(BrokerRefuses, match=r"rides\.fhv: .*max\.message\.bytes.*Message size too large"):
                one.result(patient(30))
        places = {one: answer.result(patient(30)).outcomes[0] for one, answer in small.items()}
        told(lane, wanted(b"fits", topic=NARROW))
        assert not lane.has_ended
    there = written(taking)
    assert {place: one for one, place in places.items()}.items() <= there.items()
    assert sorted(there.values()) == sorted([b"opened", *places])
    assert [one for one in written(taking, NARROW).values() if one != PROBE] == [b"fits"]


def test_a_broker_that_is_not_there_confirms_nothing(taking: Settings, unused_tcp_port: int) -> None:
    client = {"bootstrap.servers": f"127.0.0.1:{unused_tcp_port}"}
    lane = Lane(client, taking.app_id, 1, Memory(REMEMBERED_MS, 1_000_000))
    with pytest.raises(NotWritten):
        told(lane, wanted(b"a"))
    assert lane.has_ended
