"""Tasks whose graces and skew change while they go on, and who was late by all that was said before: brute force."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from app.domain.advance import Advance
from app.domain.cleanliness.condition import holds
from app.domain.event_time import NO_WATERMARK, is_skewed
from app.domain.marker import InputPosition
from app.domain.records import Record
from app.domain.source import Action, Rule, out_of_bounds, with_derived
from app.domain.view import View
from app.engine.core.batch import Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer, new_state
from app.engine.core.rows.state import ViewState
from app.engine.core.task import TaskCore
from app.rides.ride import HOUR_US
from tests.support.material.histories import SCHEMAS, START_US, Log, random_splits

GRACES = (0, 60, 1800, 3 * 3600)
SKEWS = (0, 600, 3600, 10**10)
REFUSING = (
    Rule("unpaid", Action.QUARANTINE, "fare_cents <= 0"),
    Rule("endless", Action.QUARANTINE, "duration_us > 10_000_000_000 or vendor is null"),
)
Origin = tuple[str, int]
"""Topic and offset, of one partition."""


@dataclass(frozen=True)
class Ruled:
    """From here on a topic is judged by these rules: a skew, rules that quarantine, and a grace by view."""

    skew_seconds: int
    graces: dict[str, int]
    refusing: tuple[Rule, ...]


Event = Ruled | Record | int
"""What happens to a topic-partition, in order: other rules, a record that was read, a watermark that was raised."""


@dataclass
class Judged:
    """Who was refused, and late for a view, as one who forgets nothing says.

    `counted`: of views whose windows have ends of their own, how many records each window took, by its start.
    """

    unusable: set[Origin] = field(default_factory=set)
    late: set[Origin] = field(default_factory=set)
    counted: Counter[int] = field(default_factory=Counter)
    closed_to_us: int = NO_WATERMARK


def judged(view: View, events: Sequence[Event]) -> Judged:
    """One topic-partition's events: a window is closed once any rule closed it at any watermark."""
    judged, watermark_us, skew_seconds, grace_us = Judged(), NO_WATERMARK, 0, 0
    refusing = tuple[Rule, ...]()

    def close() -> None:
        if watermark_us != NO_WATERMARK:
            judged.closed_to_us = max(judged.closed_to_us, watermark_us - grace_us)

    for event in events:
        if isinstance(event, Ruled):
            skew_seconds, grace_us = event.skew_seconds, event.graces[view.name] * 1_000_000
            refusing = event.refusing
            close()
            continue
        if isinstance(event, int):
            watermark_us = max(watermark_us, event)
            close()
            continue
        values = with_derived(view.source, event.values)
        reported_us = int(values[view.source.reported_at] or 0)
        bad = out_of_bounds(view.source, event.values) is not None or event.timestamp_ms < 0
        bad = bad or any(holds(rule.condition, values) for rule in refusing)
        if bad or is_skewed(reported_us, event.timestamp_ms, skew_seconds):
            judged.unusable.add((event.topic, event.offset))
            continue
        watermark_us = max(watermark_us, reported_us)
        close()
        if not view.window.ends or (at := values[view.window.column]) is None:
            continue
        holding = windows_at(view, int(at))
        taking = [start_us for start_us, end_us in holding if end_us > judged.closed_to_us]
        if not taking:
            judged.late.add((event.topic, event.offset))
        elif not view.window.merges:
            judged.counted.update(taking)
    return judged


def windows_at(view: View, at_us: int) -> list[tuple[int, int]]:
    """Start and end of every window that an instant is in; of a session view the instant itself."""
    if view.window.merges:
        return [(at_us, at_us)]
    if overlap := view.window.overlap:
        size_us, step_us, offset_us = overlap
        last_us = at_us - (at_us - offset_us) % step_us
        starts_us = range(last_us, at_us - size_us, -step_us)
        return [(start_us, start_us + size_us) for start_us in starts_us]
    start_us = view.window.start(at_us)
    return [(start_us, view.window.end(start_us))]


def ruled(definition: TaskDefinition, rng: random.Random) -> TaskDefinition:
    """The tasks as another release has them: other graces, another skew, other rules that quarantine."""
    (source,) = definition.sources
    others = [rule for rule in source.rules if rule not in REFUSING]
    refusing = rng.sample(REFUSING, rng.choice((0, 0, 1, 2)))
    other = replace(source, skew_seconds=rng.choice(SKEWS), rules=(*others, *refusing))
    views = tuple(replace(view, source=other, grace_seconds=rng.choice(GRACES)) for view in definition.views)
    return replace(definition, sources=(other,), views=views)


@dataclass
class Ruling:
    """One task, taken over now and then by a release with other rules; `events` tell what happened, by topic."""

    definition: TaskDefinition
    partition: int
    rng: random.Random
    events: dict[str, list[Event]] = field(default_factory=dict)
    advances: list[Advance] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.core = TaskCore(self.definition, new_state(self.definition, self.partition, self._starts()))
        self._note()

    def play(self, logs: Sequence[Log]) -> None:
        """Fold logs in random pieces, with changes of the rules and raised watermarks between them."""
        pieces = [[(log, *piece) for piece in random_splits(self.rng, log.next_offset)] for log in logs]
        while left := [of_topic for of_topic in pieces if of_topic]:
            if self.rng.random() < 0.3:
                self.change()
            if self.rng.random() < 0.2:
                self.advance(self.rng.choice(logs).topic)
            log, base, until = self.rng.choice(left).pop(0)
            self.settle(self.core.plan(self.core.read([log.batch(base, until)], SCHEMAS)))
            self.events[log.topic] += [r for r in log.records if base <= r.offset < until]

    def change(self, definition: TaskDefinition | None = None) -> None:
        """Another release takes the task over."""
        self.definition = definition or ruled(self.definition, self.rng)
        for view in self.definition.views:
            self.core.state.views.setdefault(view.name, ViewState(view))
        state = Restorer(self.definition, self.core.state).finish(self._starts(), self.partition)
        self.core = TaskCore(self.definition, state)
        self._note()
        if self.rng.random() < 0.5:
            self.settle(self.core.keep_up())

    def advance(self, topic: str) -> None:
        watermark_us = START_US + self.rng.randint(0, 48) * HOUR_US
        at = self.core.state.marker.inputs[topic].next_offset
        transaction = self.core.advance(topic, watermark_us)
        if transaction is not None:
            self.advances.append(Advance(topic, self.partition, at, watermark_us))
            self.events[topic].append(watermark_us)
            self.settle(transaction)

    def settle(self, transaction: Transaction | None) -> None:
        """Commit a transaction, and all the upkeep that follows."""
        while transaction is not None:
            self.core.commit(transaction, 0)
            self.transactions.append(transaction)
            transaction = self.core.keep_up()

    def _note(self) -> None:
        (source,) = self.definition.sources
        graces = {view.name: view.grace_seconds for view in self.definition.views}
        refusing = tuple(rule for rule in source.rules if rule.action is Action.QUARANTINE)
        rules = Ruled(source.skew_seconds, graces, refusing)
        for topic in self.definition.by_topic:
            self.events.setdefault(topic, []).append(rules)

    def _starts(self) -> dict[str, InputPosition]:
        return {topic: InputPosition("id", 0, 0) for topic in self.definition.topics}
