"""What tasks did about corrections, judged again naively at the positions where they say they stood."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.base import names
from app.domain.corrections.correction import Refusal, why_not_applied
from app.testkit.checks.expected import Expected, ExpectedOutcome
from app.testkit.simulation.parcels import ALL_VIEWS
from app.testkit.simulation.steps import Deploy
from app.testkit.simulation.world import APPLICATION, World


def outcomes_of(world: World, partition: int) -> list[ExpectedOutcome]:
    """What is committed about a task's corrections, in the order in which the task met them."""
    topic = names.corrected_topic(APPLICATION)
    logs = (world.broker.log(topic, p) for p in range(world.broker.partitions))
    records = (entry.record for log in logs for entry in log.entries if entry.is_committed)
    documents = [json.loads(record.value or b"") for record in records if record is not None]
    sent = {corrected.offset: corrected for corrected in world.inputs.corrected if corrected.partition == partition}
    outcomes = []
    for document in documents:
        if document["partition"] == partition:
            correction = sent[document["offset"]].correction
            if correction is None:
                raise ValueError(f"an outcome of what nobody can read: {document}")
            outcomes.append(ExpectedOutcome(correction, document["offset"], document["why"], document["at"]))
    return sorted(outcomes, key=lambda outcome: outcome.offset)


def correction_problems(world: World, expected: Expected) -> Iterator[str]:
    """Every readable correction has one outcome, and it is the one that the rules give."""
    partition, outcomes = expected.marker.partition, expected.outcomes
    asked = [c.offset for c in world.inputs.corrected if c.partition == partition and c.correction is not None]
    if [outcome.offset for outcome in outcomes] != sorted(asked):
        yield f"corrections at {asked}, outcomes of those at {[outcome.offset for outcome in outcomes]}"
    for number, outcome in enumerate(outcomes):
        allowed = set(_allowed(world, expected, outcome, outcomes[:number]))
        if outcome.why not in allowed:
            yield f"correction at {outcome.offset}: {outcome.why or 'applied'}, not {allowed}: {outcome}"


def _allowed(
    world: World, expected: Expected, outcome: ExpectedOutcome, before: Sequence[ExpectedOutcome]
) -> Iterator[str | None]:
    """Outcomes that are right.

    Two things are open: whether the row had expired yet, and whether advances at the very position had been taken.
    Of what a view was before it began anew, nothing is known any more.
    """
    (view,) = (view for view in ALL_VIEWS if view.name == outcome.correction.view)
    marker = expected.marker
    position = marker.views[view.name]
    if position.version != view.version or outcome.offset < position.corrected_from:
        yield outcome.why
        return
    inputs = {
        topic: replace(at, next_offset=outcome.at.get(topic, at.start_offset)) for topic, at in marker.inputs.items()
    }
    then = Expected(replace(marker, inputs=inputs), expected.facts, expected.advances)
    stored = then.view(view).corrected(before).get(outcome.correction.key)
    reached = [then.seen_us(view, topic.name) for topic in view.source.topics]
    highest_us = min(map(max, reached))
    for lowest_us in {us for of_topic in reached for us in of_topic if us <= highest_us}:
        for expired_to_us in (None, marker.views[view.name].expired_to_us):
            yield why_not_applied(view, outcome.correction, stored, lowest_us, expired_to_us)
            if expired_to_us is not None:
                yield why_not_applied(view, outcome.correction, None, lowest_us, expired_to_us)
    if any(isinstance(step, Deploy) for step in world.script.steps):  # which release had the task, nothing tells
        yield from (Refusal.NOT_LIVE, Refusal.NO_SUCH_VIEW, Refusal.OTHER_VERSION)
