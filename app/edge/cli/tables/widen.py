"""`flagfall widen`: go on with more partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import bootstrap_option, echo_json, echo_table, json_option, load_catalogue, load_settings
from app.edge.cli.tables.mending import stopped_tasks, yes_option

if TYPE_CHECKING:
    from app.base.kafka.topic import Topic
    from app.base.settings import Settings
    from app.domain.catalogue import TaskGroup


@click.command()
@yes_option
@bootstrap_option
@json_option
def command(*, yes: bool, bootstrap_server: str | None, as_json: bool) -> int:
    """Give all topics, and so the tasks, as many partitions as FLAGFALL_TOPICS_PARTITIONS says.

    For more load than the partitions that are there can take. No table is built anew, no window is published twice,
    and what is recomputed later still matches. Keys may go to other partitions from then on: a START and an END that
    lie on two sides of this do not meet. Without --yes nothing is changed, and the exit code is 1 if something is to
    be done. Topics that are missing are made. Broken off, it is done again.

    \b
    export FLAGFALL_TOPICS_PARTITIONS=8
    flagfall widen
    flagfall widen --yes
    """
    from app.base.kafka.topic_growth import grow, partitions_now
    from app.engine.drive.ownership.widening import are_wide, widen
    from app.topics import needed_topics

    settings = load_settings(bootstrap_server)
    catalogue = load_catalogue(settings)
    topics = _changelogs_last(settings, catalogue.groups, needed_topics(settings, catalogue))
    now = partitions_now(settings.kafka, topics)
    groups = [stopped_tasks(settings, group, now[_changelog(settings, group)]) for group in catalogue.groups]
    wide = asyncio.run(are_wide(groups))
    is_due = not all(wide.values()) or any(now[topic.name] < topic.partitions for topic in topics)
    if yes and is_due:
        widened = [stopped_tasks(settings, group, settings.topics.partitions) for group in catalogue.groups]
        asyncio.run(widen(groups, lambda: grow(settings.kafka, topics), widened))
    if as_json:
        echo_json({"widened": yes and is_due, "topics": list(_told(now, topics)), "groups": wide})
    else:
        _echo(list(_told(now, topics)), is_due=is_due, widened=yes)
    return int(is_due and not yes)


def _changelog(settings: Settings, group: TaskGroup) -> str:
    from app.base import names

    return names.changelog_topic(settings.app_id, group.name)


def _changelogs_last(settings: Settings, groups: Sequence[TaskGroup], topics: Sequence[Topic]) -> list[Topic]:
    """By their changelogs' partitions it is known how many tasks there were, however far this had come."""
    changelogs = {_changelog(settings, group) for group in groups}
    return sorted(topics, key=lambda topic: topic.name in changelogs)


def _told(now: Mapping[str, int], topics: Sequence[Topic]) -> list[dict[str, Any]]:
    return [
        {"topic": topic.name, "partitions": now[topic.name], "wanted": topic.partitions}
        for topic in topics
        if now[topic.name] < topic.partitions
    ]


def _echo(told: list[dict[str, Any]], *, is_due: bool, widened: bool) -> None:
    if not is_due:
        click.echo("all topics have their partitions, and all tasks know how many they are: there is nothing to do")
        return
    if told:
        echo_table(("topic", "partitions", "wanted"), (list(one.values()) for one in told))
    else:
        click.echo("all topics have their partitions, but not all tasks know how many they are")
    if widened:
        click.echo("done: start the workers, with FLAGFALL_TOPICS_PARTITIONS as it is here")
    else:
        click.echo("nothing was changed; --yes widens them, once all workers are stopped")
