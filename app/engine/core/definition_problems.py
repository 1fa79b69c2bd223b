"""What is wrong with a task's definition, in words: all of it at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.domain.view import shared_marks

if TYPE_CHECKING:
    from app.engine.core.definition import TaskDefinition


def problems_of(definition: TaskDefinition) -> Iterable[str]:
    """Mistakes of a definition whose parts are each right: what does not fit together."""
    if not definition.sources:
        yield "there is no source: neither a view nor a join reads one"
    topics = [topic.name for source in definition.sources for topic in source.topics]
    yield from (f"topic {t!r} is in two sources" for t in sorted({t for t in topics if topics.count(t) > 1}))
    numbers = [topic.number for source in definition.sources for topic in source.topics]
    yield from (f"topic number {n} is used twice" for n in sorted({n for n in numbers if numbers.count(n) > 1}))
    yield from shared_marks((view.number, view.name) for view in definition.views)
    yield from shared_marks((join.number, join.name) for join in definition.joins)
    yield from shared_marks((alert.number, alert.name) for alert in definition.alerts)
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
