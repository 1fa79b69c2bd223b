"""The marker that a release finds, completed for what it declares: what goes on, begins, or was left (rule 13)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from app.base import names
from app.domain.branch import Branch
from app.domain.errors import StateError
from app.domain.marker import (
    BUILDING,
    CLEARING,
    LIVE,
    AlertPosition,
    BranchPosition,
    BuildPosition,
    InputPosition,
    JoinPosition,
    Marker,
    OffsetRange,
    ViewPosition,
    former_key,
    unknown_topic,
)
from app.domain.obeyed import giving_grace, held_to
from app.domain.pairs.pairing import Pairing
from app.domain.rules.epochs import GraceEpoch
from app.domain.view import View
from app.engine.core.called_now import as_called_now
from app.engine.core.definition import TaskDefinition

PairedPosition = TypeVar("PairedPosition", JoinPosition, AlertPosition)
BegunPosition = TypeVar("BegunPosition", JoinPosition, AlertPosition, BranchPosition)
"""What begins where its task is, and is never built from the log."""


def empty_marker(definition: TaskDefinition, partition: int, inputs: Mapping[str, InputPosition]) -> Marker:
    """The marker of a task whose changelog holds none; `inputs` name where its topics begin."""
    nothing = Marker(definition.application, definition.number, partition, 0, dict(inputs), {})
    return completed(definition, nothing, inputs)


def completed(
    definition: TaskDefinition,
    marker: Marker,
    inputs: Mapping[str, InputPosition],
    former: Collection[str] = frozenset(),
) -> Marker:
    """The marker with a place for all that is declared; `inputs` name where topics begin now.

    A view that does not go on begins with no rows where its topics begin: it is BUILDING until it has read again
    what the task has read, and CLEARING before that if it is among `former`: those of which the log holds what
    was written before they were changed or given another number. One that is only renamed goes on. A view that is not
    declared now is BUILDING from here on: should it be declared again, it reads what it missed, and is LIVE if that is
    nothing. A branch that missed records starts anew from here on.
    Where the marker tells of another grace or skew than is declared now, an epoch begins here. StateError for a
    join or alert that missed records, or that was changed, and for a topic of which nothing tells where it begins.
    """
    positions = {topic: _held(definition, topic, at) for topic, at in (dict(inputs) | marker.inputs).items()}
    for topic in definition.topics:
        if topic not in positions:
            raise unknown_topic(topic, marker.partition)
    marker = as_called_now(definition, marker)
    views = {name: _left(position, positions, definition.closings) for name, position in marker.views.items()}
    views |= {v.name: _position(definition, v, marker, positions, inputs, v.name in former) for v in definition.views}
    here = {former_key(view.number, view.version) for view in views.values()}
    closed = {key: to_us for key, to_us in marker.closed_before.items() if key not in here}
    marker = replace(marker, inputs=positions, views=views, closed_before=closed)
    joins = {join.name: _paired(join, JoinPosition, marker.joins, marker) for join in definition.joins}
    alerts = {alert.name: _paired(alert, AlertPosition, marker.alerts, marker) for alert in definition.alerts}
    branches = {branch.name: _branched(branch, marker) for branch in definition.branches}
    return replace(
        marker,
        tasks=definition.task_count,
        closing_partitions=marker.closing_partitions or definition.task_count,
        joins=_begun_left(marker.joins, marker) | joins,
        alerts=_begun_left(marker.alerts, marker) | alerts,
        branches=_begun_left(marker.branches, marker) | branches,
    )


def _held(definition: TaskDefinition, topic: str, position: InputPosition) -> InputPosition:
    source = definition.by_topic.get(topic)
    return position if source is None else held_to(source, position)


def goes_on(view: View, marker: Marker) -> bool:
    """Whether the view continues what the marker tells of; else it begins anew."""
    known = marker.views.get(view.name)
    return known is not None and (known.number, known.version) == (view.number, view.version)


def _position(
    definition: TaskDefinition,
    view: View,
    marker: Marker,
    positions: dict[str, InputPosition],
    inputs: Mapping[str, InputPosition],
    is_former: bool,
) -> ViewPosition:
    if goes_on(view, marker):
        known = marker.views[view.name]
        if not definition.is_closed_by_merging(view):
            known = replace(known, built={t: at for t, at in known.built.items() if t != definition.closings})
        if known.state == BUILDING:  # where nothing came while it was away, nothing is read again that would end it
            known = built_so_far(known, positions)
        return giving_grace(view, known, positions)
    starts = {topic.name: inputs[topic.name].start_offset for topic in view.source.topics}
    corrections = positions.get(names.corrections_topic(definition.application, definition.name))
    closed_to_us = marker.closed_before.get(former_key(view.number, view.version))
    declared = ViewPosition(view.number, view.version, closed_to_us=closed_to_us)
    begun = begun_again(declared, starts, 0 if corrections is None else corrections.next_offset)
    if not is_former:  # one that was here once has taken what was closed
        if definition.is_closed_by_merging(view):
            begun.built[definition.closings] = BuildPosition(inputs[definition.closings].start_offset)
        begun = built_so_far(begun, positions)
    return giving_grace(view, begun, positions)


def begun_again(
    position: ViewPosition, start: Mapping[str, int], corrected_from: int, again: OffsetRange | None = None
) -> ViewPosition:
    """A view that begins anew under its number and version, from these offsets on: its rows go first.

    It judges by the last grace that it had. What it had closed is published, and not published again.
    """
    graces: dict[str, tuple[GraceEpoch, ...]] = {
        t: (GraceEpoch(start[t], epochs[-1].grace_seconds),) for t, epochs in position.graces.items()
    }
    return ViewPosition(
        position.number,
        position.version,
        CLEARING,
        dict(start),
        closed_to_us=position.closed_to_us,
        built={topic: BuildPosition(at) for topic, at in start.items()},
        graces=graces,
        corrected_from=corrected_from,
        corrections_again=again,
        former_to_us=max((at for at in (position.closed_to_us, position.former_to_us) if at is not None), default=None),
    )


def begun_left(position: ViewPosition, inputs: Mapping[str, InputPosition], closings: str) -> ViewPosition:
    """The view of another task, as a task that has read nothing leaves it to a release that declares it."""
    start = {topic: inputs[topic].start_offset for topic in position.start}
    begun = begun_again(replace(position, closed_to_us=None, former_to_us=None), start, 0)
    return _left(replace(begun, state=LIVE, built={}), inputs, closings)


def built_so_far(position: ViewPosition, inputs: Mapping[str, InputPosition]) -> ViewPosition:
    """A view's position of which nothing is left of what it was: LIVE once it has read again all that the task has
    read, and folded in again what corrected it."""
    if is_built(position, inputs) and position.corrections_again is None:
        return replace(position, state=LIVE, built={})
    return replace(position, state=BUILDING)


def is_built(position: ViewPosition, inputs: Mapping[str, InputPosition]) -> bool:
    """Whether a view that is not LIVE has read again all that the task has read."""
    return all(at.next_offset >= inputs[topic].next_offset for topic, at in position.built.items())


def _left(position: ViewPosition, inputs: Mapping[str, InputPosition], closings: str) -> ViewPosition:
    """What a release that does not know the view leaves of it: what is closed meanwhile is read again, too."""
    if position.state != LIVE:
        return position
    at = {t: BuildPosition(inputs[t].next_offset, inputs[t].watermark_us) for t in position.start}
    if closings in inputs:
        at[closings] = BuildPosition(inputs[closings].next_offset)
    return replace(position, state=BUILDING, built=at)


def _begun_left(known: Mapping[str, BegunPosition], marker: Marker) -> dict[str, BegunPosition]:
    """What a release that knows none of these leaves of them."""
    here = marker.next_offsets
    return {name: replace(at, left_at=at.left_at or {t: here[t] for t in at.start}) for name, at in known.items()}


def _missed(position: JoinPosition | AlertPosition | BranchPosition, marker: Marker) -> dict[str, int]:
    """From which offsets on the task has read what this has not."""
    return {topic: at for topic, at in position.left_at.items() if marker.next_offsets[topic] > at}


def _paired(
    pairing: Pairing, kind: type[PairedPosition], positions: Mapping[str, PairedPosition], marker: Marker
) -> PairedPosition:
    """Where a join or alert begins or goes on. What it holds is held by the version that was."""
    known = positions.get(pairing.name)
    if known is None:
        return kind(pairing.number, pairing.version, start={t: marker.next_offsets[t] for t in pairing.topics})
    a, what, parts = pairing.words
    named = f"task {marker.partition}: {what} {pairing.name!r}"
    if known.version != pairing.version:
        raise StateError(
            f"{named} was {known.version} and is {pairing.version} now: its bound, grace, {parts} or columns were "
            f"changed, but halves are held by what it was. Give the changed {what} another number, so that it begins "
            "where the task is, or take the change back"
        )
    if missed := _missed(known, marker):
        raise StateError(
            f"{named} was not kept from {missed} on, by a release without it, and {a} {what} cannot be built anew from "
            "the log; give it another number, so that it begins where the task is"
        )
    return replace(known, left_at={})


def _branched(branch: Branch, marker: Marker) -> BranchPosition:
    """Where a branch goes on, or begins anew."""
    known = marker.branches.get(branch.name)
    if known is not None and known.version == branch.version and not _missed(known, marker):
        return replace(known, left_at={})
    return BranchPosition(branch.version, {t.name: marker.next_offsets[t.name] for t in branch.source.topics})
