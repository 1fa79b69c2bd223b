"""What an application consists of: task groups, each of sources and the views over them.

One catalogue is made from the settings, and all that works with views is given it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from app.domain.branch import Branch
from app.domain.errors import DefinitionError, did_you_mean
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join
from app.domain.pairs.pairing import Pairing
from app.domain.source import Source
from app.domain.view import View

Named = TypeVar("Named", "View", "TaskGroup")
NumberAndName = tuple[int, str]
"""By either of which something stored is found again."""


@dataclass(frozen=True)
class TaskGroup:
    """Sources whose equal partitions form one task, and what is made of their records."""

    sources: tuple[Source, ...]
    views: tuple[View, ...]
    joins: tuple[Join, ...] = ()
    alerts: tuple[Alert, ...] = ()
    branches: tuple[Branch, ...] = ()

    @property
    def number(self) -> int:
        """Its first source's, as markers have it."""
        return self.sources[0].number

    @property
    def name(self) -> str:
        """Its first source's: part of the names of its changelog and its other topics."""
        return self.sources[0].name

    @cached_property
    def finals(self) -> tuple[View, ...]:
        """Views that publish one final row per window and group."""
        return tuple(view for view in self.views if view.window.ends)

    @property
    def pairing(self) -> tuple[Pairing, ...]:
        """What matches records by id, and writes a topic of its own."""
        return (*self.joins, *self.alerts)


@dataclass(frozen=True)
class Catalogue:
    """Task groups that share an application. DefinitionError if numbers, names or topics are used twice."""

    groups: tuple[TaskGroup, ...]

    def __post_init__(self) -> None:
        problems = list(clashes(self.given, [(view.number, view.name) for view in self.views]))
        if problems:
            raise DefinitionError("the list of sources and views is not usable", problems)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        return tuple(source for group in self.groups for source in group.sources)

    @cached_property
    def given(self) -> tuple[Source, ...]:
        """Sources, and what joins and alerts give as one: they have numbers and topics, whether or not it is read."""
        given = (one.source for group in self.groups for one in group.pairing)
        return (*self.sources, *(source for source in given if source.name not in self._names))

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(source.name for source in self.sources)

    @cached_property
    def views(self) -> tuple[View, ...]:
        return tuple(view for group in self.groups for view in group.views)

    @cached_property
    def finals(self) -> tuple[View, ...]:
        """Views that publish one final row per window and group."""
        return tuple(view for group in self.groups for view in group.finals)

    def over(self, views: Collection[View]) -> list[TaskGroup]:
        """The groups of these views, each with those of them alone that are its own."""
        narrowed = (replace(group, views=tuple(view for view in group.views if view in views)) for group in self.groups)
        return [group for group in narrowed if group.views]

    def view(self, name: str) -> View:
        """The view of that name; KeyError naming those there are."""
        return _named(name, self.views, "view")

    def group(self, name: str) -> TaskGroup:
        """The task group of that name; KeyError naming those there are."""
        return _named(name, self.groups, "task group")

    @cached_property
    def by_topic(self) -> Mapping[str, Source]:
        """The source that each topic of records is of."""
        return {topic.name: source for source in self.sources for topic in source.topics}

    @cached_property
    def passed_on(self) -> frozenset[str]:
        """Topics that joins and alerts of a group write and groups behind it read."""
        passed_on: set[str] = set()
        given: dict[str, Source] = {}
        for group in self.groups:
            read = {topic.name: source for source in group.sources for topic in source.topics}
            passed_on |= {name for name, source in read.items() if name in given and given[name].is_same_record(source)}
            given |= {one.output.name: one.source for one in group.pairing}
        return frozenset(passed_on)

    def group_of(self, source: Source) -> TaskGroup:
        """The task group that reads a source of the catalogue."""
        return next(group for group in self.groups if source in group.sources)

    def extended(self, sources: Iterable[Source], views: Sequence[View]) -> Catalogue:
        """This and more: views join the group of their source; each new source begins a group of its own.

        DefinitionError if numbers, names or topics are used twice, or a view is over a source that is not there.
        """
        groups = (*self.groups, *(TaskGroup((source,), ()) for source in sources))
        known = [source for group in groups for source in group.sources]
        if lost := [f"view {v.name!r} is over source {v.source.name!r}" for v in views if v.source not in known]:
            raise DefinitionError("there are views over sources that are not there", lost)
        return Catalogue(tuple(_with_views(group, views) for group in groups))


def taken_twice(given: Iterable[NumberAndName]) -> Iterable[str]:
    """What is wrong with numbers and names that are used twice: both stand for stored rows."""
    seen: dict[object, str] = {}
    for number, name in given:
        if number in seen:
            yield f"{name} and {seen[number]} are both number {number}: choose another one, numbers are never shared"
        if name in seen:
            yield f"two are called {name!r}: choose another name, names are never shared"
        seen |= {number: name, name: name}


def clashes(sources: Sequence[Source], views: Iterable[NumberAndName]) -> Iterable[str]:
    """Numbers and names of sources, topics and views that are used twice, in words."""
    yield from (f"sources: {clash}" for clash in taken_twice((source.number, source.name) for source in sources))
    topics = [(topic.number, topic.name) for source in sources for topic in source.topics]
    yield from (f"topics: {clash}" for clash in taken_twice(topics))
    yield from (f"views: {clash}" for clash in taken_twice(views))


def _with_views(group: TaskGroup, views: Sequence[View]) -> TaskGroup:
    own = tuple(view for view in views if view.source in group.sources)
    return replace(group, views=(*group.views, *own))


def _named(name: str, all_of: Iterable[Named], what: str) -> Named:
    by_name = {one.name: one for one in all_of}
    if name not in by_name:
        raise KeyError(f"no {what} {name!r}; there are: {', '.join(by_name)}{did_you_mean(name, by_name)}")
    return by_name[name]
