"""Which rules tasks have obeyed, as their markers say: what recomputations must obey too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.domain.event_time import NO_WATERMARK
from app.domain.marker import LIVE, BuildPosition, InputPosition, Marker, ViewPosition
from app.domain.records import TopicPartition
from app.domain.rules.epochs import GraceEpoch, Rules, SkewEpoch, seen_us, with_declared, with_grace
from app.domain.source import Source
from app.domain.view import View


def rules_of(view: View, markers: Iterable[Marker]) -> Rules:
    """The epochs of the view and its source; of several markers of a task those of the one that knows most."""
    graces, markers = dict[TopicPartition, tuple[GraceEpoch, ...]](), tuple(markers)
    for marker in markers:
        position = marker.views.get(view.name)
        for topic in (topic.name for topic in view.source.topics if topic.name in marker.inputs):
            at = TopicPartition(topic, marker.partition)
            told = () if position is None else position.graces.get(topic, ())
            graces[at] = max(graces.get(at, ()), told, key=len)
    return Rules(source_rules_of(view.source, markers).skews, graces)


def source_rules_of(source: Source, markers: Iterable[Marker]) -> Rules:
    """The epochs of a source alone, whatever views are over it."""
    skews = dict[TopicPartition, tuple[SkewEpoch, ...]]()
    for marker in markers:
        for topic in (topic.name for topic in source.topics if topic.name in marker.inputs):
            at = TopicPartition(topic, marker.partition)
            skews[at] = max(skews.get(at, ()), marker.inputs[topic].skews, key=len)
    return Rules(skews, {})


def lowest_seen_us(view: View, marker: Marker) -> int:
    """The watermark by which the view judges, of its task's topics the lowest; NO_WATERMARK if one has none."""
    graces = marker.views[view.name].graces if view.name in marker.views else {}
    return min(
        seen_us(
            view,
            graces[topic.name][-1] if graces.get(topic.name) else None,
            marker.position_in(topic.name).watermark_us,
        )
        for topic in view.source.topics
    )


def closed_to_us(view: View, markers: Iterable[Marker]) -> int:
    """Windows that end at or before it take no more records in any task; NO_WATERMARK if none is closed."""
    lowest_us = min((lowest_seen_us(view, marker) for marker in markers), default=NO_WATERMARK)
    return NO_WATERMARK if lowest_us == NO_WATERMARK else lowest_us - view.grace_us


def held_to(source: Source, position: InputPosition) -> InputPosition:
    """The position of one of the source's topics, when its records are judged as the source declares from here on."""
    skews = with_declared(position.skews, source, start=position.start_offset, at=position.next_offset)
    return position if skews == position.skews else replace(position, skews=skews)


def giving_grace(view: View, position: ViewPosition, inputs: dict[str, InputPosition]) -> ViewPosition:
    """The view's position, when it judges by the grace of its definition from where it stands on."""
    if not view.window.ends:
        return position
    graces = dict(position.graces)
    for topic in (topic.name for topic in view.source.topics):
        at = _stands_at(position, inputs[topic], topic)
        start = position.start.get(topic, inputs[topic].start_offset)
        graces[topic] = with_grace(
            graces.get(topic, ()), view.grace_seconds, start=start, at=at.next_offset, watermark_us=at.watermark_us
        )
    return position if graces == position.graces else replace(position, graces=graces)


def _stands_at(position: ViewPosition, read: InputPosition, topic: str) -> BuildPosition:
    """How far the view has judged a topic."""
    if position.state != LIVE and topic in position.built:
        return position.built[topic]
    return BuildPosition(read.next_offset, read.watermark_us)
