"""A changed view is built beside the old one and takes its name: two workers, rolling restarts, nothing built twice, no
window published twice, and Spark says MATCH."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base import names
from app.base.files.verdicts import Verdict
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.definitions.load import catalogue_of
from app.domain.view import View
from app.topics import needed_topics
from spark_batch.reconcile import reconcile
from tests.support.machine.cluster import write_rides
from tests.support.machine.spark import lent
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import assert_exact, covers, messages

TIPS = """
[views.{name}]
number = {number}
source = "rides"
groups = {{ payment = "payment_type" }}
window = {{ kind = "tumbling", column = "pickup_at_us", size_seconds = 600 }}
grace_seconds = 3_600
retention_seconds = 34_560_000
help = "Tips by how rides were paid."

[views.{name}.measures]
rides = {{ kind = "count" }}
"""
MORE = 'tip_cents = {{ kind = "sum", column = "tip_cents" }}\n'
BUILT = "is built anew"
OLD, BESIDE, SWITCHED = (
    TIPS.format(name="tips", number=30),
    TIPS.format(name="tips", number=30) + (TIPS + MORE).format(name="tips_2", number=31),
    (TIPS + MORE).format(name="tips", number=31),
)


@pytest.mark.spark
def test_a_changed_view_takes_the_name_of_the_old_one_when_it_is_whole(
    world: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    started: list[Worker] = []
    at = 0

    def write() -> None:
        nonlocal at
        write_rides(world, at, 1_500)
        at += 1_500

    def release(name: str, text: str) -> tuple[Settings, dict[str, View]]:
        file = tmp_path / f"{name}.toml"
        file.write_text(text, "utf-8")
        settings = world.model_copy(update={"definitions": file})
        catalogue = catalogue_of(settings)
        create_topics(settings.kafka, needed_topics(settings, catalogue))
        views = {view.name: view for view in catalogue.views if view.name.startswith("tips")}
        for number in range(2):  # one worker after the other
            if len(started) == 2:
                started.pop(0).stop()
            started.append(Worker(settings, tmp_path / f"{name}-{number}.log"))
            wait_for(lambda: all(worker.is_ready() for worker in started), "workers are ready", started)
            write()
        for view in views.values():
            wait_for(lambda view=view: all(covers(settings, one, view) for one in started), "all is folded", started)
        return settings, views

    try:
        write()
        _, old = release("old", OLD)
        settings, beside = release("beside", BESIDE)
        assert beside["tips"] == old["tips"]
        assert_exact(settings, started, [beside["tips"], beside["tips_2"]])
        settings, switched = release("switched", SWITCHED)
        assert (switched["tips"].number, switched["tips"].version) == (31, beside["tips_2"].version)
        assert_exact(settings, started, [switched["tips"]])
        built = {name: [BUILT in log.read_text() for log in logs_of(tmp_path, name)] for name in ("beside", "switched")}
        assert built["beside"] != [False, False]
        assert built["switched"] == [False, False]
        report = reconcile(
            settings,
            lent(spark),
            catalogue_of(settings).over([switched["tips"]]),
            worker=WorkerDoor(started[0].url),
            output=tmp_path / "reports",
            work=tmp_path / "work",
        )
        assert (report.verdict, report.reason) == (Verdict.MATCH, None)
        assert_published_once(settings, ["tips", "tips_2"])
    finally:
        for worker in started:
            worker.kill()


def logs_of(folder: Path, release: str) -> list[Path]:
    return [folder / f"{release}-{number}.log" for number in range(2)]


def assert_published_once(settings: Settings, views: list[str]) -> None:
    """Each window once for each version, whatever the view was called."""
    told = [json.loads(m.value()) for view in views for m in messages(settings, names.finals_topic(view))]
    keys = [(one["version"], one["window_start_us"], one["payment"]) for one in told]
    assert keys
    assert len(set(keys)) == len(keys)
