"""What all tasks of one group of sources have in common: their inputs, and what is kept over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from app.base import names
from app.domain.branch import Branch
from app.domain.errors import DefinitionError
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join, Side
from app.domain.pairs.pairing import Pairing
from app.domain.source import Source
from app.domain.view import View
from app.engine.core.definition_problems import problems_of


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
