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
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join
from app.domain.pairs.pairing import Pairing
from app.domain.rules.epochs import GraceEpoch
from app.domain.rules.obeyed import giving_grace, held_to
from app.domain.view import View
from app.engine.core.definition import TaskDefinition

Begun = TypeVar("Begun", JoinPosition, AlertPosition, BranchPosition)
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
    was written before they were changed, renamed or given another number. A view that is not declared now is
    BUILDING from here on: should it be declared again, it reads what it missed, and is LIVE if that is nothing. A
    branch that missed records starts anew from here on.
    Where the marker tells of another grace or skew than is declared now, an epoch begins here. StateError for a
    join or alert that missed records, or that was changed, and for a topic of which nothing tells where it begins.
    """
    positions = {topic: _held(definition, topic, at) for topic, at in (dict(inputs) | marker.inputs).items()}
    for topic in definition.topics:
        if topic not in positions:
            raise unknown_topic(topic, marker.partition)
    marker = _parted(definition, marker)
    views = {name: _left(position, positions) for name, position in marker.views.items()}
    views |= {v.name: _position(definition, v, marker, positions, inputs, v.name in former) for v in definition.views}
    here = {former_key(view.number, view.version) for view in views.values()}
    closed = {key: to_us for key, to_us in marker.closed_before.items() if key not in here}
    joins = {name: _begun_left(position, positions) for name, position in marker.joins.items()}
    joins |= {join.name: _join_position(join, marker, positions) for join in definition.joins}
    alerts = {name: _begun_left(position, positions) for name, position in marker.alerts.items()}
    alerts |= {alert.name: _alert_position(alert, marker, positions) for alert in definition.alerts}
    branches = {name: _begun_left(position, positions) for name, position in marker.branches.items()}
    branches |= {branch.name: _branch_position(branch, marker, positions) for branch in definition.branches}
    marker = replace(marker, inputs=positions, views=views, closed_before=closed)
    return replace(marker, joins=joins, alerts=alerts, branches=branches)


def _parted(definition: TaskDefinition, marker: Marker) -> Marker:
    """The marker without the views that a declared one takes the place of, by name or by its rows."""
    declared = {former_key(view.number, view.version): view.name for view in definition.views}
    stay, closed = dict[str, ViewPosition](), dict(marker.closed_before)
    for name, position in marker.views.items():
        key = former_key(position.number, position.version)
        if declared.get(key, name) == name and (name not in definition.by_name or key in declared):
            stay[name] = position
        elif position.closed_to_us is not None:
            closed[key] = position.closed_to_us
    return replace(marker, views=stay, closed_before=closed)


def _held(definition: TaskDefinition, topic: str, position: InputPosition) -> InputPosition:
    source = definition.by_topic.get(topic)
    return position if source is None else held_to(source, position)


def _position(
    definition: TaskDefinition,
    view: View,
    marker: Marker,
    positions: dict[str, InputPosition],
    inputs: Mapping[str, InputPosition],
    is_former: bool,
) -> ViewPosition:
    if definition.goes_on(view, marker):
        known = marker.views[view.name]
        if known.state == BUILDING:  # where nothing came while it was away, nothing is read again that would end it
            known = built_so_far(known, positions)
        return giving_grace(view, known, positions)
    starts = {topic.name: inputs[topic.name].start_offset for topic in view.source.topics}
    corrections = positions.get(names.corrections_topic(definition.application, definition.name))
    begun = ViewPosition(
        view.number,
        view.version,
        CLEARING,
        starts,
        closed_to_us=marker.closed_before.get(former_key(view.number, view.version)),
        built={topic: BuildPosition(at) for topic, at in starts.items()},
        corrected_from=0 if corrections is None else corrections.next_offset,
    )
    return giving_grace(view, begun if is_former else built_so_far(begun, positions), positions)


def begun_again(
    position: ViewPosition, start: Mapping[str, int], corrected_from: int, again: OffsetRange | None = None
) -> ViewPosition:
    """A view that begins anew under its number and version, from these offsets on: its rows go first.

    It judges by the last grace that it had.
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
    )


def built_so_far(position: ViewPosition, inputs: Mapping[str, InputPosition]) -> ViewPosition:
    """A view's position of which nothing is left of what it was: LIVE once it has read again all that the task has
    read, and folded in again what corrected it."""
    if is_built(position, inputs) and position.corrections_again is None:
        return replace(position, state=LIVE, built={})
    return replace(position, state=BUILDING)


def is_built(position: ViewPosition, inputs: Mapping[str, InputPosition]) -> bool:
    """Whether a view that is not LIVE has read again all that the task has read."""
    return all(at.next_offset >= inputs[topic].next_offset for topic, at in position.built.items())


def _left(position: ViewPosition, inputs: Mapping[str, InputPosition]) -> ViewPosition:
    """What a release that does not know the view leaves of it."""
    if position.state != LIVE:
        return position
    at = {t: BuildPosition(inputs[t].next_offset, inputs[t].watermark_us) for t in position.start}
    return replace(position, state=BUILDING, built=at)


def _begun_left(position: Begun, inputs: Mapping[str, InputPosition]) -> Begun:
    """What a release that does not know it leaves of it."""
    return replace(position, left_at=position.left_at or {t: inputs[t].next_offset for t in position.start})


def _join_position(join: Join, marker: Marker, inputs: Mapping[str, InputPosition]) -> JoinPosition:
    known = marker.joins.get(join.name)
    if known is None or known.number != join.number:
        return JoinPosition(join.number, join.version, start={t: inputs[t].next_offset for t in join.topics})
    _refuse_changed("join", "sides", marker, known, join)
    _refuse_missed("join", join.name, marker, known, inputs)
    return replace(known, left_at={})


def _alert_position(alert: Alert, marker: Marker, inputs: Mapping[str, InputPosition]) -> AlertPosition:
    known = marker.alerts.get(alert.name)
    if known is None or known.number != alert.number:
        return AlertPosition(alert.number, alert.version, start={alert.topic: inputs[alert.topic].next_offset})
    _refuse_changed("alert", "halves", marker, known, alert)
    _refuse_missed("alert", alert.name, marker, known, inputs)
    return replace(known, left_at={})


def _refuse_changed(
    what: str, parts: str, marker: Marker, known: JoinPosition | AlertPosition, declared: Pairing
) -> None:
    """What is held is held by the version that was."""
    if known.version != declared.version:
        raise StateError(
            f"task {marker.partition}: {what} {declared.name!r} was {known.version} and is {declared.version} now: its "
            f"bound, grace, {parts} or columns were changed, but halves are held by what it was. Give the changed "
            f"{what} another number, so that it begins where the task is, or take the change back"
        )


def _refuse_missed(
    what: str, name: str, marker: Marker, known: JoinPosition | AlertPosition, inputs: Mapping[str, InputPosition]
) -> None:
    missed = {t: at for t, at in known.left_at.items() if inputs[t].next_offset > at}
    if missed:
        raise StateError(
            f"task {marker.partition}: {what} {name!r} was not kept from {missed} on, by a release without it, and "
            f"{'a join' if what == 'join' else 'an alert'} cannot be built anew from the log; give it another number, "
            "so that it begins where the task is"
        )


def _branch_position(branch: Branch, marker: Marker, inputs: Mapping[str, InputPosition]) -> BranchPosition:
    known = marker.branches.get(branch.name)
    if known is not None and known.version == branch.version:
        missed = any(inputs[topic].next_offset > at for topic, at in known.left_at.items())
        if not missed:
            return replace(known, left_at={})
    return BranchPosition(branch.version, {t.name: inputs[t.name].next_offset for t in branch.source.topics})
