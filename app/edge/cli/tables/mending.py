"""What `rebuild`, `accept-loss` and `widen` share: the options, and tasks that no worker may hold meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.domain.errors import did_you_mean
from app.edge.cli.common import Command, load_catalogue

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.domain.catalogue import TaskGroup
    from app.engine.drive.ownership.mending import StoppedGroup


def source_option(command: Command) -> Command:
    """`--source`; passes `source`."""
    text = "The source whose tasks are meant: all that share its task group."
    return click.option("--source", default="rides", show_default=True, metavar="NAME", help=text)(command)


def yes_option(command: Command) -> Command:
    """`--yes`; passes `yes`."""
    return click.option("--yes", is_flag=True, help="Do it. All workers must have been stopped.")(command)


def group_of(settings: Settings, source: str) -> TaskGroup:
    """The task group that reads a source; click.BadParameter if there is none of that name."""
    groups = {one.name: group for group in load_catalogue(settings).groups for one in group.sources}
    if source not in groups:
        told = f"no source {source!r}{did_you_mean(source, list(groups))}; there are: {', '.join(groups)}"
        raise click.BadParameter(told, param_hint="--source")
    return groups[source]


def stopped_group(settings: Settings, group: TaskGroup) -> StoppedGroup:
    """The group's tasks, with what they talk to; their topics are as they should be."""
    from app.base.kafka.topic_admin import require_topics
    from app.domain.catalogue import Catalogue
    from app.topics import needed_topics

    require_topics(settings.kafka, needed_topics(settings, Catalogue((group,))))
    return stopped_tasks(settings, group, settings.topics.partitions)


def stopped_tasks(settings: Settings, group: TaskGroup, count: int) -> StoppedGroup:
    """The first `count` tasks of a group, whatever their topics have."""
    from app.base.errors import RegistryUnavailable
    from app.base.kafka.clients import aiokafka_options
    from app.base.kafka.cluster import Cluster
    from app.base.kafka.group_members import Members
    from app.base.registry.client import Registry
    from app.engine.drive.kafka.connections import Connections
    from app.engine.drive.kafka.schemas import SchemaCache
    from app.engine.drive.ownership.mending import StoppedGroup
    from tables import groups

    schemas = SchemaCache(Registry(settings).writer_schema, RegistryUnavailable)
    connections = Connections(aiokafka_options(settings.kafka), Cluster(settings.kafka), schemas)
    members = Members(settings.kafka, settings.app_id).told
    return StoppedGroup(groups.define(group, settings), connections, members, count)
