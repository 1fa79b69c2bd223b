"""What tasks have refused, late or unusable: each once, with its own bytes and the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from app.base import names
from app.codecs.batches.origin_headers import (
    REASON,
    VERSIONS,
    VIEWS,
)
from app.domain.records import Reason, TopicPartition
from app.engine.core.task_state import TaskState
from app.testkit.checks.expected import Expected, RecordPlace
from app.testkit.checks.written import Settled, as_refused, fact_place, multiset_problems, refused_output, written
from app.testkit.simulation.parcels import ALL_VIEWS, changed
from app.testkit.simulation.steps import Deploy
from app.testkit.simulation.world import APPLICATION, World


def refusal_problems(world: World, settled: Settled) -> Iterator[str]:
    quarantined: Counter[Any] = Counter()
    late: Counter[Any] = Counter()
    for state, expected in settled:
        quarantined.update(as_refused(expected.inside[at], (REASON, why)) for at, why in expected.refused.items())
        quarantined.update(_refused_requests(world, state.partition))
        quarantined.update(_unreadable_corrections(world, state.partition))
        late.update((as_refused(expected.inside[at]), named) for at, named in _late(world, state, expected))
    yield from multiset_problems("quarantined", quarantined, written(world, names.quarantine_topic(APPLICATION)))
    told = written(world, names.late_topic(APPLICATION)).elements()
    split = Counter((_without(record, VIEWS, VERSIONS), named) for record in told for named in _views_of(record))
    anew = _began_anew(world)
    yield from multiset_problems(
        "late", late, Counter({one: min(n, late[one]) if one[1][0] in anew else n for one, n in split.items()})
    )


def _late(world: World, state: TaskState, expected: Expected) -> Iterator[tuple[RecordPlace, tuple[str, str]]]:
    """Each record that a view or join refused for lateness, with its name and version."""
    for view in (*ALL_VIEWS, *map(changed, ALL_VIEWS)):  # those of former releases, too
        position = state.marker.views.get(view.name)
        if position is not None and position.version == view.version:
            for record in expected.view(view).folded.late:
                yield (record.topic, record.offset), (view.name, view.version)
    for join in world.definition.joins:
        for origin in expected.joined(join).late:
            yield fact_place(expected, origin), (join.name, join.version)
    for alert in world.definition.alerts:
        for origin in expected.alerted(alert).late:
            yield fact_place(expected, origin), (alert.name, alert.version)


def _began_anew(world: World) -> set[str]:
    """Views of which releases had another version: what was late for that, or in a former life, was told, too."""
    deployed = {view for step in world.script.steps if isinstance(step, Deploy) for view in step.views}
    return {view.name for view in deployed if view not in ALL_VIEWS}


def _without(record: Any, *named: str) -> Any:
    key, value, headers = record
    return key, value, tuple(h for h in headers if h[0] not in named)


def _views_of(record: Any) -> list[tuple[str, str]]:
    told = {header: value.decode().split(",") for header, value in record[2] if header in (VIEWS, VERSIONS)}
    return list(zip(told[VIEWS], told[VERSIONS], strict=True))


def _refused_requests(world: World, partition: int) -> Iterator[Any]:
    place = TopicPartition(world.definition.advance_requests, partition)
    for asked in world.inputs.asked:
        if asked.request.place.partition == partition and asked.request.flaw is not None:
            yield refused_output(place, asked.offset, asked.sent, (REASON, str(asked.request.flaw)))


def _unreadable_corrections(world: World, partition: int) -> Iterator[Any]:
    place = TopicPartition(names.corrections_topic(APPLICATION, world.definition.name), partition)
    for sent in world.inputs.corrected:
        if sent.partition == partition and sent.correction is None:
            yield refused_output(place, sent.offset, sent.sent, (REASON, str(Reason.UNDECODABLE)))
