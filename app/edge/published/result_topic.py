"""What tasks publish beside their tables: final rows, joined records, alerts; each in a topic of its own."""

from __future__ import annotations

from typing import NamedTuple

from app.base import names
from app.domain.pairs.pairing import Pairing
from app.domain.source import Source
from app.engine.core.definition import TaskDefinition

FINALS, JOINED, ALERTS = "finals", "joined", "alerts"


class ResultTopic(NamedTuple):
    """A topic of results. `of`: the view, join or alert that they are of; `source`: what Avro records of it are, None
    where they are JSON."""

    topic: str
    kind: str
    of: str
    help: str
    source: Source | None = None


def published_by(definition: TaskDefinition) -> tuple[ResultTopic, ...]:
    """Of the tasks of a group."""
    finals = (definition.by_name[name] for name in definition.finals)
    return (
        *(ResultTopic(names.finals_topic(view.name), FINALS, view.name, view.help) for view in finals),
        *(_of_pairing(JOINED, one) for one in definition.joins),
        *(_of_pairing(ALERTS, one) for one in definition.alerts),
    )


def _of_pairing(kind: str, one: Pairing) -> ResultTopic:
    return ResultTopic(one.output.name, kind, one.name, one.help, one.source)
