"""Tables of a world by the naive fold, with the markers over them: what a faultless worker would have left."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Fates, InputPosition, Marker, ViewPosition
from app.domain.oracle.view_fold import Folded, fold
from app.domain.records import Record, Refused, TopicPartition
from tests.support.machine.waiting import wait_for
from tests.support.material.stored.world import PARTITIONS, Stored, World


def fold_tasks(world: World) -> None:
    """Tables and markers as they must be; nothing is written yet."""
    folded = {view.name: fold(view, world.records, world.advances) for view in world.views}
    for partition in range(PARTITIONS):
        rows = {name: dict(found.rows[partition]) for name, found in folded.items()}
        live = {name: dict(table) for name, table in rows.items()}
        world.tasks[partition] = Stored(_marker(world, partition, folded), live, rows)


def _marker(world: World, partition: int, folded: dict[str, Folded]) -> Marker:
    topics = [topic.name for topic in world.source.topics]
    facts = world.cluster.topics(topics)
    any_view = next(iter(folded.values()))
    inputs = {t: _input_position(world, any_view, TopicPartition(t, partition), facts[t].id) for t in topics}
    views = {
        view.name: ViewPosition(
            view.number,
            view.version,
            start=dict.fromkeys(topics, 0),
            fates={t: _fates(folded[view.name], TopicPartition(t, partition)) for t in topics},
        )
        for view in world.views
    }
    return Marker(world.settings.app_id, world.source.number, partition, 1, inputs, views)


def _input_position(world: World, folded: Folded, at: TopicPartition, topic_id: str) -> InputPosition:
    wait_for(lambda: not _is_open(world, at), f"every transaction of {at} is closed in its log")
    end = world.cluster.log_ends([at], committed=True)[at]
    read, refused, poisoned = _count(world.records, at), _count(folded.quarantined, at), world.poisoned.count(at)
    return InputPosition(
        topic_id=topic_id,
        start_offset=0,
        next_offset=end,
        watermark_us=folded.watermarks.get(at, NO_WATERMARK),
        decoded=read - refused,
        quarantined=refused + poisoned,
        not_records=end - read - poisoned,
    )


def _is_open(world: World, at: TopicPartition) -> bool:
    """A commit is told before its markers are in the log: until then the last stable offset is behind."""
    return world.cluster.log_ends([at], committed=True) != world.cluster.log_ends([at], committed=False)


def _fates(folded: Folded, at: TopicPartition) -> Fates:
    return Fates(_count(folded.applied, at), _count(folded.late, at), _count(folded.out_of_scope, at))


def _count(records: Sequence[Record] | Sequence[Refused], at: TopicPartition) -> int:
    return sum((record.topic, record.partition) == at for record in records)
