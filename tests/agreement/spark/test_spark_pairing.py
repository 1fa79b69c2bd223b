"""Spark's joins and alerts give what the naive folds and the tasks give: pairs, unmatched halves, alerts and fates."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.domain.event_time import NO_WATERMARK
from app.domain.oracle.alert_fold import ToldAlert, fold_alert
from app.domain.oracle.join_fold import fold_join
from app.domain.pairs.join import JoinKind, Side
from spark_batch.folds.joins import Recomputed, recompute_alert, recompute_join
from tests.support.material.pairing.calls import (
    EVENTS,
    LONG,
    PAID,
    WHOLE,
    core_of,
    defined,
    of_kind,
    play,
)
from tests.support.material.pairing.marked import marked
from tests.support.material.pairing.two_logs import two_logs

pytestmark = pytest.mark.spark


def fates(of: Recomputed) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {"applied": set(), "late": set(), "duplicate": set(), "out_of_scope": set()}
    for row in of.fates.collect():
        found[row["fate"]].add(row["origin"])
    return found


@pytest.mark.parametrize("seed", [4])
def test_joins_and_alerts_are_those_of_the_naive_folds_and_of_the_task(
    seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    draws = random.Random(seed)
    logs = two_logs(draws, 300)
    records = {log.topic: marked(spark, log, tmp_path) for log in logs}
    core = core_of(defined([of_kind(PAID, JoinKind.OUTER), WHOLE], [LONG]))
    play(core, logs, draws)
    inputs = core.state.marker.inputs
    watermarks = {(topic, 0): inputs[topic].watermark_us for topic in records}
    assert NO_WATERMARK not in watermarks.values()
    everything = [record for log in logs for record in log.records]
    advances = [advance for log in logs for advance in log.raised]
    for join in (PAID, WHOLE):
        own = recompute_join(join, {topic: records[topic] for topic in join.topics}, watermarks)
        expected = fold_join(join, everything, advances)
        results = {(row["left_origin"], row["right_origin"]) for row in own.results.collect()}
        assert {pair for pair in results if None not in pair} == expected.pairs
        assert {left for left, right in results if right is None} == expected.unmatched[Side.LEFT]
        assert {right for left, right in results if left is None} == expected.unmatched[Side.RIGHT]
        found = fates(own)
        position = core.state.marker.joins[join.name]
        assert position.joined == len(expected.pairs) > 0
        assert found == {
            "applied": expected.applied,
            "late": expected.late,
            "duplicate": expected.duplicates,
            "out_of_scope": expected.out_of_scope,
        }
    alerts = recompute_alert(LONG, records[EVENTS], advances)
    truth = fold_alert(LONG, everything, advances)
    told = alerts.results.select("start_origin", "end_origin", "at_offset", "told_at_us").collect()
    assert {ToldAlert(*row) for row in told} == set(truth.told)
    assert len(told) == len(truth.told) == core.state.marker.alerts[LONG.name].told > 0
    assert any(one.end is None for one in truth.told)
    assert any(one.end is not None for one in truth.told)
    assert fates(alerts)["duplicate"] == truth.duplicates
    assert fates(alerts)["late"] == truth.late
