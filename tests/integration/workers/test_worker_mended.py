"""Workers go on over a world that was not what it should be, once somebody has mended it by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from app.base.kafka.group_members import Members
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.domain.marker import OffsetRange
from app.rides.ride import RIDES
from app.rides.views import VIEWS
from app.topics import source_topics
from tests.support.flow import by_task, exported, in_changelog
from tests.support.machine.cluster import write_rides
from tests.support.machine.refusals import member, on_own_port, write_marker
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import flagfall
from tests.support.machine.world import assert_ledgers, covers, delete_records, delete_topics, markers, ready_worker
from tests.support.truth import log_ends, records_of


def test_a_worker_goes_on_behind_a_loss_that_was_accepted(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 600)
    write_marker(world, lambda at: at)
    read = log_ends(world, RIDES)
    write_rides(world, 600, 600)
    ends = log_ends(world, RIDES)
    delete_records(world, ends)
    gaps = {t.name: OffsetRange(read[t.name, 0], ends[t.name, 0]) for t in RIDES.topics}
    gaps = {topic: gap for topic, gap in gaps.items() if gap.offsets}
    shown = flagfall(world, "accept-loss", "--json")
    assert shown.returncode == 1
    assert {gap["place"]: gap["offsets"] for gap in json.loads(shown.stdout)["gaps"]} == {
        f"{topic}-0": gap.offsets for topic, gap in gaps.items()
    }
    with member(world, "http://worker-1:18081#it"):
        refused = flagfall(world, "accept-loss", "--yes")
    assert refused.returncode == 1
    assert "1 worker is in the group" in refused.stderr
    assert "http://worker-1:18081#it" in refused.stderr
    wait_for(lambda: not Members(world.kafka, world.app_id)(), "the member has left")
    assert flagfall(world, "accept-loss", "--yes").returncode == 0
    write_rides(world, 1_200, 100)
    with ready_worker(on_own_port(world), tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride that is left is covered", [running])
    marker = markers(world, 0)[-1]
    assert {topic: at.lost for topic, at in marker.inputs.items() if at.lost} == {t: (g,) for t, g in gaps.items()}
    assert_ledgers(marker)


def test_tables_are_built_anew_from_what_the_topics_hold_now(world: Settings, tmp_path: Path) -> None:
    """rides.yellow has lost its end, rides.green was created anew, the others have lost what was not read."""
    write_rides(world, 0, 600)
    write_marker(world, lambda at: replace(at, next_offset=at.next_offset + 5))
    delete_topics(world, ["rides.green"])
    create_topics(world.kafka, source_topics(world, RIDES))
    write_rides(world, 600, 600)
    ends = log_ends(world, RIDES)
    delete_records(world, {at: end for at, end in ends.items() if at[0] in ("rides.fhv", "rides.hvfhv")})
    shown = flagfall(world, "rebuild", "--dry-run", "--json")
    assert shown.returncode == 0
    places = {place["place"]: place for place in json.loads(shown.stdout)["places"]}
    assert places["rides.green-0"]["created_anew"]
    assert (places["rides.fhv-0"]["from"], places["rides.fhv-0"]["to"]) == (ends["rides.fhv", 0],) * 2
    with member(world, "http://worker-1:18081#it"):
        refused = flagfall(world, "rebuild", "--yes")
    assert refused.returncode == 1
    assert "http://worker-1:18081#it" in refused.stderr
    assert len(markers(world, 0)) == 1
    wait_for(lambda: not Members(world.kafka, world.app_id)(), "the member has left")
    assert flagfall(world, "rebuild", "--yes").returncode == 0
    write_rides(world, 1_200, 100)
    with ready_worker(on_own_port(world), tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride that is left is covered", [running])
        records, stored = records_of(world, RIDES), in_changelog(world, VIEWS)
        for view in VIEWS:
            assert exported(view, [running], world.topics.partitions) == by_task(view, records) == stored[view.name]
    assert_ledgers(markers(world, 0)[-1])
