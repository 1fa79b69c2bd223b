"""Rows that have left the tables are compared with what was published of them, and each wrong final is told."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from app.base.files.verdicts import Verdict
from app.base.kafka.clients import librdkafka_options
from app.base.names import finals_topic
from app.base.settings import Settings
from app.codecs.stored.changelog import encode_rows
from app.codecs.stored.closings import Mark, as_closed_row_key, encode_mark, mark_key
from app.domain.oracle.view_fold import final_rows
from app.domain.records import TopicPartition, as_integer
from app.domain.rows import COUNT_AT, Cells, RowKey, end_of, last_of
from app.domain.view import View
from app.domain.windows.scope import Scope
from app.engine.core.results.merging import finals_of
from app.rides.views import ZONE_DEMAND
from tests.support.machine.asking import results
from tests.support.machine.world import delete_records
from tests.support.material.histories import START_US
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.row_keys import encode_key
from tests.support.material.stored.tables import rows_of_table
from tests.support.material.stored.transactions import new_producer, transaction
from tests.support.material.stored.world import PARTITIONS, World, new_world
from tests.support.material.stored.written import write_random_rides
from tests.support.material.views import DAYS, SHIFTS, UNEVEN
from tests.support.reconciled import SEED, Checked, changed, check

HOUR_US = 3_600_000_000
RIDES_EACH = 80
LEFT_US = START_US + 30 * HOUR_US
"""Rows of windows that had ended by then have left."""
SCOPE_FROM_US, SCOPE_TO_US = START_US + 2 * HOUR_US, START_US + 6 * HOUR_US
SCOPE = Scope(SCOPE_FROM_US, SCOPE_TO_US)
_numbers = itertools.count(1_000)

Table = Mapping[RowKey, Cells]


@pytest.fixture
def world(services: Settings) -> Iterator[World]:
    """Views that nobody else has, as all publish to one broker."""
    kinds = (ZONE_DEMAND, DAYS, UNEVEN, SHIFTS)
    own = [replace(view, number=(n := next(_numbers)), name=f"{view.name}_{n}") for view in kinds]
    with new_world(services, topics=1, views=own) as made:
        admin = AdminClient(librdkafka_options(made.settings.kafka))
        names = [name for view in own for name in (view.name, _former_name(view))]
        topics = [NewTopic(finals_topic(name), PARTITIONS, 1) for name in names]
        results(admin.create_topics(topics).values(), "topics are made", 30)
        write_random_rides(made, SEED, RIDES_EACH)
        fold_tasks(made)
        yield made


def _former_name(view: View) -> str:
    return f"formerly_{view.name}"


def let_go(world: World, marked_to_us: int = LEFT_US) -> dict[View, dict[RowKey, Cells]]:
    """Rows leave table and changelog, and each closing partition has all tasks' marks; gives what must be published."""
    found = {}
    for view in world.views:
        tables = [stored.changelog[view.name] for stored in world.tasks.values()]
        found[view] = final_rows(view, tables, min(LEFT_US, marked_to_us))
        assert len(found[view]) > 3
        for stored in world.tasks.values():
            _leave(stored.marker.views, view)
            for side in (stored.live, stored.changelog):
                side[view.name] = {key: c for key, c in side[view.name].items() if end_of(view, key, c) > LEFT_US}
            stored.blocks += [(mark_key(view, p), encode_mark(Mark(marked_to_us, {}))) for p in range(PARTITIONS)]
    return found


def _leave(positions: dict[str, Any], view: View) -> None:
    positions[view.name] = replace(positions[view.name], expired_to_us=LEFT_US)


def publish(world: World, view: View, finals: Table, *, topic: str | None = None, revision: int = 0) -> None:
    """As tasks do."""
    keys = {key: RowKey(key.window_start_us, _stored_group(view, key)) for key in finals}
    rows = rows_of_table(view, {keys[key]: cells for key, cells in finals.items()})
    producer = new_producer(world)
    with transaction(producer):
        for output in finals_of(view, rows, {}, np.full(len(finals), revision)):
            producer.produce(topic or output.topic, output.value, output.key)


def _stored_group(view: View, key: RowKey) -> tuple[Any, ...]:
    return (key.window_start_us, *key.group) if view.window.overlap else key.group


def found_of(checked: Checked, view: View) -> dict[str, Any]:
    (one,) = (one for one in checked.document["views"] if one["view"] == view.name)
    return dict(one["finals"])


def test_rows_that_came_and_went_are_compared_through_their_finals(
    world: World, spark: SparkSession, tmp_path: Path
) -> None:
    due = let_go(world)
    for view, finals in due.items():
        publish(world, view, finals)
    found = check(world, spark, tmp_path)
    assert (found.report.reason, found.report.verdict) == (None, Verdict.MATCH)
    for view, finals in due.items():
        assert found_of(found, view) == {
            "to_us": LEFT_US,
            "compared": len(finals),
            "corrected": 0,
            "gone": 0,
            "repeated": 0,
            "classes": {},
            "differences": [],
        }

    narrowed = check(world, spark, tmp_path, scope=SCOPE)
    assert (narrowed.report.reason, narrowed.report.verdict) == (None, Verdict.MATCH)
    inside = {
        view: [key for key, cells in finals.items() if _is_inside(view, key, cells)] for view, finals in due.items()
    }
    assert {view: found_of(narrowed, view)["compared"] for view in due} == {
        view: len(keys) for view, keys in inside.items()
    }
    assert 0 < len(inside[world.views[0]]) < len(due[world.views[0]])


def window_end(view: View, key: RowKey, cells: Cells) -> int:
    return view.window.window_end(as_integer(key.window_start_us), last_of(view, cells))


def _is_inside(view: View, key: RowKey, cells: Cells) -> bool:
    """Whether the window has a part in the scope, where one can be told of it."""
    start_us, end_us = as_integer(key.window_start_us), window_end(view, key, cells)
    return view.window.merges or (start_us < SCOPE_TO_US and end_us > SCOPE_FROM_US)


def test_each_wrong_final_is_named_and_what_is_alike_is_not(world: World, spark: SparkSession, tmp_path: Path) -> None:
    due = let_go(world)
    wrong = {view: _spoilt(world, view, finals) for view, finals in due.items()}
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.MISMATCH
    assert found.report.residual == 3 * len(due), "what is lost is told by its absence"
    assert all(one["differing_rows"] == 0 for one in found.document["views"])
    for view, keys in wrong.items():
        told = found_of(found, view)
        named = {one["class"]: (one["window_start_us"], *one["group"].values()) for one in told["differences"]}
        assert named == {kind: (key.window_start_us, *key.group) for kind, key in keys.items()}
        assert told["classes"] == dict.fromkeys(keys, 1)
        assert (told["compared"], told["repeated"]) == (len(due[view]) + 1, 2)
        assert [one["place"] is None for one in told["differences"] if one["class"] == "LOST"] == [True]


def _spoilt(world: World, view: View, finals: dict[RowKey, Cells]) -> dict[str, RowKey]:
    """One of each kind is published; and what is no difference: finals that come again, an earlier revision that was
    wrong, another version's, and what is none."""
    lost, altered, twice, *rest = sorted(finals, key=repr)
    made_up = _of_nobody(view, rest[0])
    publish(world, view, {altered: changed(finals[altered], COUNT_AT), made_up: finals[rest[0]]})
    publish(world, view, {rest[0]: changed(finals[rest[0]], COUNT_AT)})
    publish(world, view, {rest[0]: finals[rest[0]]}, revision=1)
    publish(world, view, {twice: changed(finals[twice], COUNT_AT)})
    publish(world, view, {key: finals[key] for key in (twice, *rest[1:])})
    publish(world, view, {rest[1]: finals[rest[1]]}, topic=finals_topic(_former_name(view)))
    other = replace(view, grace_seconds=view.grace_seconds, number=next(_numbers))
    publish(world, other, {lost: finals[lost]}, topic=finals_topic(view.name))
    producer = new_producer(world)
    with transaction(producer):
        for value in (None, b"", b"[]", b"{}", b"\xff", json.dumps({"version": view.version}).encode()):
            producer.produce(finals_topic(view.name), value)
    return {"LOST": lost, "ALTERED": altered, "DOUBLED": twice, "UNNAMED": made_up}


def _of_nobody(view: View, key: RowKey) -> RowKey:
    """A row of a group that no record is of."""
    return RowKey(key.window_start_us, (9_999 if view.groups[0].column != "vendor" else "nobody", *key.group[1:]))


def test_what_need_not_have_been_published_at_the_cut_is_not_asked_for(
    world: World, spark: SparkSession, tmp_path: Path
) -> None:
    """A row still waits, finals are of a former life, a task's mark is behind, or was never told."""
    waiting, unmarked, behind, former = world.views
    due = let_go(world)
    ends = {view: {key: window_end(view, key, cells) for key, cells in finals.items()} for view, finals in due.items()}
    middle_us = {view: sorted(of_view.values())[len(of_view) // 2] for view, of_view in ends.items()}
    key = next(key for key, end_us in ends[waiting].items() if end_us == middle_us[waiting])
    row = encode_rows(np.array([due[waiting][key]], np.int64))[0]
    world.tasks[1].blocks += [
        (as_closed_row_key(encode_key(waiting, key)), row),
        (mark_key(behind, 0), encode_mark(Mark(middle_us[behind], {}))),
    ]
    world.tasks[0].blocks = [block for block in world.tasks[0].blocks if block[0] != mark_key(unmarked, 1)]
    positions = world.tasks[0].marker.views
    positions[former.name] = replace(positions[former.name], former_to_us=middle_us[former])
    for view, is_there in (
        (waiting, lambda end_us: end_us < middle_us[waiting]),
        (former, lambda end_us: end_us > middle_us[former]),
        (behind, lambda end_us: end_us <= middle_us[behind]),
    ):
        publish(world, view, {key: cells for key, cells in due[view].items() if is_there(ends[view][key])})

    found = check(world, spark, tmp_path)

    assert (found.report.reason, found.report.verdict) == (None, Verdict.MATCH)
    reached = {view: found_of(found, view)["to_us"] for view in (waiting, former, behind)}
    assert reached == {waiting: middle_us[waiting] - 1, former: LEFT_US, behind: middle_us[behind]}
    assert all(0 < found_of(found, view)["compared"] < len(due[view]) for view in reached)
    assert found.document["views"][world.views.index(unmarked)]["finals"] is None


def test_what_a_topic_has_let_go_is_told_and_not_lost(world: World, spark: SparkSession, tmp_path: Path) -> None:
    due = let_go(world)
    for view, finals in due.items():
        publish(world, view, finals)
    view = world.views[0]
    topic = finals_topic(view.name)
    ends = world.cluster.log_ends([TopicPartition(topic, p) for p in range(PARTITIONS)], committed=True)
    delete_records(world.settings, ends)
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.MATCH
    told = found_of(found, view)
    assert (told["compared"], told["gone"], told["classes"]) == (0, len(due[view]), {})
