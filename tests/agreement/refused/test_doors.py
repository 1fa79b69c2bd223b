"""A few thousand mutated inputs at every door: no exception, and records have one fate, in Spark too."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_batch.source.read_source import read_source
from tests.fuzz.door import Door, try_door
from tests.fuzz.doors import DOORS
from tests.fuzz.records import SCHEMAS, TOPIC, draw_record, naive
from tests.support.material.histories import Log
from tests.support.material.views import ALL_VIEWS
from tests.support.spark_logs import as_kafka

INPUTS = 20_000
RECORDS = 2_000


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_nothing_that_comes_in_raises(door: Door) -> None:
    tried = try_door(door, random.Random(door.name), round(INPUTS * door.share))
    assert tried.found == []
    assert len(tried.fates) > 1  # else it was no exercise


def test_mutated_records_have_one_fate_in_spark_and_by_the_rules(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(23)
    sent = [draw_record(rng) for _ in range(RECORDS)]
    log = Log(TOPIC, 0, entries=[(offset, one.timestamp_ms, one.value) for offset, one in enumerate(sent)])
    read = read_source(as_kafka(spark, [log]), ALL_VIEWS[0].source, SCHEMAS, tmp_path)
    found = {row["offset"]: row["reason"] or "used" for row in read.select("offset", "reason").collect()}
    assert found == {offset: naive(offset, one)[0] for offset, one in enumerate(sent)}
