"""What all tasks of one group of sources have in common: their inputs, and what is kept over them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from app.base import names
from app.domain.branch import Branch
from app.domain.errors import DefinitionError, StateError
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
)
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join, Side
from app.domain.pairs.pairing import Pairing
from app.domain.rules.epochs import GraceEpoch
from app.domain.rules.obeyed import giving_grace, held_to
from app.domain.source import Source
from app.domain.view import View
from app.engine.core.definition_problems import problems_of

Begun = TypeVar("Begun", JoinPosition, AlertPosition, BranchPosition)
"""What begins where its task is, and is never built from the log."""


class Role(StrEnum):
    """What a task does with an input topic."""

    RECORDS = "records"
    ADVANCES = "advances"
    CORRECTIONS = "corrections"
    CLOSINGS = "closings"


@dataclass(frozen=True)
class TaskDefinition:
    """Sources whose equal partitions form one task, the views and joins over them, and what is finished.

    `finals`: names of the views that publish a final row per window; `task_count` (how many tasks there are) must be
    told if there are any. `schema_ids`: the registry's id of the schema of each topic that joins and alerts write.
    """

    application: str
    sources: tuple[Source, ...]
    views: tuple[View, ...]
    joins: tuple[Join, ...] = ()
    finals: tuple[str, ...] = ()
    task_count: int = 0
    schema_ids: Mapping[str, int] = field(default_factory=dict)
    branches: tuple[Branch, ...] = ()
    alerts: tuple[Alert, ...] = ()

    def __post_init__(self) -> None:
        problems = list(problems_of(self))
        if problems:
            raise DefinitionError(f"the tasks of {self.application!r} are not usable", problems)

    @property
    def name(self) -> str:
        """The group's name, its first source's: part of the names of its changelog and its other topics."""
        return self.sources[0].name

    @property
    def number(self) -> int:
        return self.sources[0].number

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """Every input topic of a task, and what it is for."""
        roles = {topic.name: Role.RECORDS for source in self.sources for topic in source.topics}
        roles[self.advance_requests] = Role.ADVANCES
        roles[names.corrections_topic(self.application, self.name)] = Role.CORRECTIONS
        if self.finals:
            roles[names.closing_topic(self.application, self.name)] = Role.CLOSINGS
        return roles

    @property
    def topics(self) -> tuple[str, ...]:
        """Input topics of a task."""
        return tuple(self.roles)

    @property
    def advance_requests(self) -> str:
        return names.advance_requests_topic(self.application, self.name)

    @cached_property
    def by_topic(self) -> Mapping[str, Source]:
        """The source that each topic of records is of."""
        return {topic.name: source for source in self.sources for topic in source.topics}

    @cached_property
    def by_name(self) -> Mapping[str, View]:
        return {view.name: view for view in self.views}

    def version_of(self, name: str) -> str:
        """The version of the view, join or alert of that name."""
        return self._versions[name]

    @cached_property
    def _versions(self) -> Mapping[str, str]:
        of_pairing = {one.name: one.version for one in self.pairing}
        return of_pairing | {view.name: view.version for view in self.views}

    @cached_property
    def joint_topics(self) -> frozenset[str]:
        """Topics of records whose batches may share a transaction: whatever stands over them only adds up.

        Sessions, joins and alerts look for what is stored, which must be all that came before.
        """
        joined = {topic for one in self.pairing for topic in one.topics}
        in_sessions = {view.source.name for view in self.views if view.window.merges}
        return frozenset(t for t, source in self.by_topic.items() if t not in joined and source.name not in in_sessions)

    def views_over(self, source: Source) -> tuple[View, ...]:
        return tuple(view for view in self.views if view.source == source)

    def branches_over(self, source: Source) -> tuple[Branch, ...]:
        return tuple(branch for branch in self.branches if branch.source == source)

    def columns_of(self, source: Source) -> frozenset[str]:
        """Columns of a source that some view, join or branch reads, derived ones among them."""
        read = {name for view in self.views_over(source) for name in view.columns}
        read |= {name for branch in self.branches_over(source) for name in branch.columns}
        for one in self.pairing:
            for side in Side:
                if (half := one.half(side)).source == source:
                    read |= {*half.columns, *one.needed(side)}
        return frozenset(read | {source.reported_at})

    @property
    def pairing(self) -> tuple[Pairing, ...]:
        """Joins and alerts: what holds halves, and sends records on."""
        return (*self.joins, *self.alerts)

    def is_closed_by_merging(self, view: View) -> bool:
        """Whether the view's closed rows go to the closing stage, where all tasks' rows become finals."""
        return view.name in self.finals

    def empty_marker(self, partition: int, inputs: Mapping[str, InputPosition]) -> Marker:
        """The marker of a task whose changelog holds none; `inputs` name where its topics begin."""
        return self.completed(Marker(self.application, self.number, partition, 0, dict(inputs), {}), inputs)

    def goes_on(self, view: View, marker: Marker) -> bool:
        """Whether the view continues what the marker tells of; else it begins anew."""
        known = marker.views.get(view.name)
        return known is not None and (known.number, known.version) == (view.number, view.version)

    def completed(
        self, marker: Marker, inputs: Mapping[str, InputPosition], former: Collection[str] = frozenset()
    ) -> Marker:
        """The marker with a place for all that is declared; `inputs` name where topics begin now.

        A view that does not go on begins with no rows where its topics begin: it is BUILDING until it has read again
        what the task has read, and CLEARING before that if it is among `former`: those of which the log holds what
        was written before they were changed, renamed or given another number. A view that is not declared now is
        BUILDING from here on: should it be declared again, it reads what it missed. A branch that missed records
        starts anew from here on.
        Where the marker tells of another grace or skew than is declared now, an epoch begins here. StateError for a
        join or alert that missed records, or that was changed.
        """
        positions = {topic: self._held(topic, at) for topic, at in (dict(inputs) | marker.inputs).items()}
        marker = self._parted(marker)
        views = {name: _left(position, positions) for name, position in marker.views.items()}
        views |= {v.name: self._position(v, marker, positions, inputs, v.name in former) for v in self.views}
        here = {former_key(view.number, view.version) for view in views.values()}
        closed = {key: to_us for key, to_us in marker.closed_before.items() if key not in here}
        joins = {name: _begun_left(position, positions) for name, position in marker.joins.items()}
        joins |= {join.name: _join_position(join, marker, positions) for join in self.joins}
        alerts = {name: _begun_left(position, positions) for name, position in marker.alerts.items()}
        alerts |= {alert.name: _alert_position(alert, marker, positions) for alert in self.alerts}
        branches = {name: _begun_left(position, positions) for name, position in marker.branches.items()}
        branches |= {branch.name: _branch_position(branch, marker, positions) for branch in self.branches}
        marker = replace(marker, inputs=positions, views=views, closed_before=closed)
        return replace(marker, joins=joins, alerts=alerts, branches=branches)

    def _parted(self, marker: Marker) -> Marker:
        """The marker without the views that a declared one takes the place of, by name or by its rows."""
        declared = {former_key(view.number, view.version): view.name for view in self.views}
        stay, closed = dict[str, ViewPosition](), dict(marker.closed_before)
        for name, position in marker.views.items():
            key = former_key(position.number, position.version)
            if declared.get(key, name) == name and (name not in self.by_name or key in declared):
                stay[name] = position
            elif position.closed_to_us is not None:
                closed[key] = position.closed_to_us
        return replace(marker, views=stay, closed_before=closed)

    def _held(self, topic: str, position: InputPosition) -> InputPosition:
        source = self.by_topic.get(topic)
        return position if source is None else held_to(source, position)

    def _position(
        self,
        view: View,
        marker: Marker,
        positions: dict[str, InputPosition],
        inputs: Mapping[str, InputPosition],
        is_former: bool,
    ) -> ViewPosition:
        if self.goes_on(view, marker):
            return giving_grace(view, marker.views[view.name], positions)
        starts = {topic.name: inputs[topic.name].start_offset for topic in view.source.topics}
        corrections = positions.get(names.corrections_topic(self.application, self.name))
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
