"""What all tasks of one group of sources have in common: their inputs, and what is kept over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from app.base import names
from app.domain.branch import Branch
from app.domain.catalogue import taken_twice
from app.domain.errors import DefinitionError
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join, Side
from app.domain.pairs.pairing import Pairing
from app.domain.source import Source
from app.domain.view import View


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
        problems = list(_problems(self))
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
            roles[self.closings] = Role.CLOSINGS
        return roles

    @property
    def topics(self) -> tuple[str, ...]:
        """Input topics of a task."""
        return tuple(self.roles)

    @property
    def closings(self) -> str:
        """The topic by which tasks tell each other what they have closed."""
        return names.closing_topic(self.application, self.name)

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

    @cached_property
    def by_version(self) -> Mapping[str, View]:
        """As what is to last names them: names may change."""
        return {view.version: view for view in self.views}

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


def _problems(definition: TaskDefinition) -> Iterable[str]:
    """Mistakes of a definition whose parts are each right: what does not fit together."""
    if not definition.sources:
        yield "there is no source: neither a view nor a join reads one"
    topics = [topic.name for source in definition.sources for topic in source.topics]
    yield from (f"topic {t!r} is in two sources" for t in sorted({t for t in topics if topics.count(t) > 1}))
    numbers = [topic.number for source in definition.sources for topic in source.topics]
    yield from (f"topic number {n} is used twice" for n in sorted({n for n in numbers if numbers.count(n) > 1}))
    yield from taken_twice((view.number, view.name) for view in definition.views)
    yield from taken_twice((join.number, join.name) for join in definition.joins)
    yield from taken_twice((alert.number, alert.name) for alert in definition.alerts)
    names_of_joins = {join.name for join in definition.joins}
    yield from (f"{a.name!r} is a join and an alert" for a in definition.alerts if a.name in names_of_joins)
    for view in definition.views:
        if view.source not in definition.sources:
            yield f"view {view.name!r} is over source {view.source.name!r}, which is not of these tasks"
    for join in definition.joins:
        for half in (join.left, join.right):
            if half.source not in definition.sources:
                yield f"join {join.name!r} reads source {half.source.name!r}, which is not of these tasks"
    for alert in definition.alerts:
        if alert.starts.source not in definition.sources:
            yield f"alert {alert.name!r} reads source {alert.starts.source.name!r}, which is not of these tasks"
    written = [one.output.name for one in definition.pairing]
    unknown = [name for name in written if name not in definition.schema_ids]
    yield from (f"no schema id of {name!r}, which is written here" for name in unknown)
    yield from (f"topic {t!r} is written by two" for t in sorted({t for t in written if written.count(t) > 1}))
    yield from _branch_problems(definition)
    if definition.finals and definition.task_count <= 0:
        yield "finals need the number of tasks (task_count)"
    by_name = {view.name: view for view in definition.views}
    for name in definition.finals:
        if name not in by_name:
            yield f"finals of {name!r}, which is no view here"
        elif not by_name[name].window.ends:
            yield f"finals of {name!r}: all-time views have none"


def _branch_problems(definition: TaskDefinition) -> Iterable[str]:
    named = [branch.name for branch in definition.branches]
    yield from (f"branch {name!r} is there twice" for name in sorted({n for n in named if named.count(n) > 1}))
    written = [topic for branch in definition.branches for topic in branch.outputs]
    yield from (f"topic {t!r} is written by two branches" for t in sorted({t for t in written if written.count(t) > 1}))
    for branch in definition.branches:
        if branch.source not in definition.sources:
            yield f"branch {branch.name!r} reads source {branch.source.name!r}, which is not of these tasks"
        for topic in sorted({*branch.outputs} & {*definition.topics}):
            yield f"branch {branch.name!r} writes topic {topic!r}, which these tasks read"
