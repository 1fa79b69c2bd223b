"""The topics that a worker tells of are those that `flagfall topics` knows."""

from __future__ import annotations

from pathlib import Path

from app.base.settings import Settings
from app.rides.zones import ZONES_TOPIC
from app.topics import topics
from tests.support.machine.world import ready_worker


def test_a_worker_tells_of_every_topic_that_the_commands_know_and_shows_each(world: Settings, tmp_path: Path) -> None:
    with ready_worker(world, tmp_path) as running:
        told = [one["topic"] for one in running.get("/v1/topics").json()["data"]]
        shown = {name: running.get(f"/v1/topics/{name}").json() for name in told}
    assert told == [topic.name for topic in topics(world)]
    assert {name: len(one["partitions"]) for name, one in shown.items()} == {
        topic.name: topic.partitions for topic in topics(world)
    }
    assert shown[ZONES_TOPIC]["readers"] == []
