"""A record at which decoding fails as nobody had foreseen: refused alone, by worker, naive rules and Spark alike."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from app.base import names
from app.codecs.avro import decode as avro_decode
from app.codecs.avro.column_arrays import Layout
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.batches.origin_headers import refused_then
from app.domain.oracle.view_fold import fold
from app.domain.records import Place, Record
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from app.testkit.encoding import filled, schema_of
from app.testkit.harness import Harness
from spark_batch.source.read_source import read_source
from spark_batch.source.refused_then import with_refused_then
from tests.support.material.histories import SCHEMAS, START_US, TOPIC_NAMES, Log, encode, random_ride
from tests.support.spark_logs import as_kafka

TOPIC, COUNT = TOPIC_NAMES[0], 40
BAD = {7, 8, 31}
REASON = "undecodable:ZeroDivisionError"


def rides() -> list[dict[str, Any]]:
    rng = random.Random(4)
    drawn = [random_ride(rng, number, START_US) for number in range(COUNT)]
    return [{**ride, "ride_id": f"broken {n}"} if n in BAD else ride for n, ride in enumerate(drawn)]


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many values the walker is given each time, which fails at some of them and knows no better."""
    walked, walk = list[int](), avro_decode.walk

    def walk_or_fail(data: Any, words: Any, starts: Any, lengths: Any, chosen: Any, *others: Any) -> None:
        walked.append(len(chosen))
        if any(b"broken" in data[starts[i] : starts[i] + lengths[i]].tobytes() for i in chosen.tolist()):
            raise ZeroDivisionError
        walk(data, words, starts, lengths, chosen, *others)

    monkeypatch.setattr(avro_decode, "walk", walk_or_fail)
    return walked


def test_it_is_quarantined_with_the_failures_name_and_its_neighbours_count(walks: list[int]) -> None:
    kit, sent = Harness(views=[ZONE_DEMAND]), rides()
    kit.send_all(TOPIC, sent)
    assert {(told.offset, told.reason) for told in kit.quarantined} == {(bad, REASON) for bad in BAD}
    stood = enumerate(zip(sent, kit.records(TOPIC), strict=True))
    good = [Record(TOPIC, 0, n, one.timestamp_ms, filled(RIDES, ride)) for n, (ride, one) in stood if n not in BAD]
    folded = fold(ZONE_DEMAND, good)
    assert kit.cells(ZONE_DEMAND) == dict(folded.rows[0])
    assert folded.applied
    position = kit.marker().inputs[TOPIC]
    assert (position.decoded, position.quarantined) == (COUNT - len(BAD), len(BAD))
    assert len(walks) < 2 * len(BAD) * (COUNT.bit_length() + 1)


def test_spark_takes_the_refusal_as_it_was_recorded_and_tells_what_could_be_used(
    walks: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    kit = Harness(views=[ZONE_DEMAND])
    kit.send_all(TOPIC, rides())
    told = [refused_then(record.headers) for record in kit.records(names.quarantine_topic("test"))]
    reasons = dict(one for one in told if one is not None)
    assert reasons == {Place(TOPIC, 0, bad): REASON for bad in BAD}
    entries = [(n, record.timestamp_ms, record.value) for n, record in enumerate(kit.records(TOPIC))]
    raw = as_kafka(spark, [Log(TOPIC, 0, entries=entries)])
    read = read_source(raw, RIDES, {1: schema_of(RIDES, 1)}, tmp_path)
    judged, usable = with_refused_then(read, RIDES, reasons)
    assert {row["offset"]: row["reason"] for row in judged.collect() if row["reason"]} == dict.fromkeys(BAD, REASON)
    assert usable == len(BAD)


def test_what_is_refused_for_another_reason_keeps_it(walks: list[int]) -> None:
    broken = encode({**rides()[0], "ride_id": "broken"})
    values = [encode(rides()[0]), broken + b"\0", broken, None]
    found = BlockDecoder(Layout(RIDES.columns)).decode(Packed(values), SCHEMAS)
    assert found.refused == [(1, "trailing_bytes"), (2, REASON), (3, "null_value")]
    assert found.kept.tolist() == [0]


def test_a_lack_of_memory_is_no_records_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(avro_decode, "walk", exhausted)
    with pytest.raises(MemoryError):
        BlockDecoder(Layout(RIDES.columns)).decode(Packed([encode(rides()[0])]), SCHEMAS)
