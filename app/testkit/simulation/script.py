"""Histories as data: how a simulated cluster begins and what happens to it, drawn from one seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join
from app.domain.records import TopicPartition
from app.domain.source import Source
from app.domain.view import View
from app.testkit.simulation.parcels import (
    ALL_VIEWS,
    MINUTE_US,
    PARCEL_VIEWS,
    PARCELS,
    RECEIPTS,
    SKEW_SECONDS,
    STARS,
    WITH_FINALS,
    changed,
)
from app.testkit.simulation.samples import START_US, draw_sample
from app.testkit.simulation.sent_on import BROKEN, SIGNED_KINDS, STUCK
from app.testkit.simulation.steps import (
    Assign,
    Compact,
    Correct,
    Delete,
    Deploy,
    EndInput,
    Flaw,
    Idle,
    Kill,
    Look,
    NewRules,
    Produce,
    Request,
    Run,
    Step,
    TimeOut,
    Widen,
    WriteControl,
)

WORKERS = ("w1", "w2", "w3")
INPUT_PRODUCERS = ("in1", "in2")
GRACES_SECONDS = (0, 300, 1200, 3600)
ENDS_MINUTES = (20, 40, 60, 80, 100, 120, 600)
SKEWS_SECONDS = (0, SKEW_SECONDS, 1200)


@dataclass(frozen=True)
class Script:
    """A history: how it begins, and its steps.

    `starts`: first offsets of logs that do not begin at 0. `receipts`: parcels meet receipts. `finals`: views that
    publish final rows. `branches`: parcels are sent on by their weight.
    """

    seed: int
    partitions: int
    starts: dict[TopicPartition, int]
    views: tuple[View, ...]
    receipts: bool
    joins: tuple[Join, ...]
    alerts: tuple[Alert, ...]
    finals: tuple[str, ...]
    steps: tuple[Step, ...]
    branches: bool = False


def draw_script(seed: int) -> Script:
    """The history of a seed: the same for ever, as long as this module stays the same."""
    return _Drawing(seed).script()


@dataclass
class _Drawing:
    seed: int
    clocks: dict[TopicPartition, int] = field(default_factory=dict)
    owners: dict[int, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draws = random.Random(self.seed)
        self.partitions = self.draws.choice((1, 1, 2))
        self.views = tuple(self.draws.sample(PARCEL_VIEWS, self.draws.choice((1, 1, 2))))
        self.receipts = self.draws.random() < 0.3
        self.views += (STARS,) if self.receipts and self.draws.random() < 0.3 else ()
        published = [v for v in self.views if v in WITH_FINALS and not v.window.merges and self.draws.random() < 0.5]
        self.merges = self.seed % 5 == 4  # no draw: other seeds keep their histories
        if self.merges:
            published += [view for view in WITH_FINALS if view.window.merges]
            self.partitions, self.views = 2, tuple(dict.fromkeys((*self.views, *published)))
        self.finals = tuple(view.name for view in published)
        # whether a correction comes before or after its row is closed, no record tells: so finals are left alone
        self.correctable = [view for view in self.views if view.name not in self.finals]
        self.branches = self.seed % 3 == 0  # no draw: other seeds keep their histories
        self.deploys = self.draws.random() < 0.3
        self.rules_change = self.draws.random() < 0.3
        sources = (PARCELS, RECEIPTS) if self.receipts else (PARCELS,)
        self.topics: dict[str, Source] = {topic.name: source for source in sources for topic in source.topics}
        self.places = [TopicPartition(topic, p) for topic in self.topics for p in range(self.partitions)]
        self.unrest = self.draws.choice((0.3, 1.5, 3.0))
        pairing = random.Random(f"pairing {self.seed}")
        self.joins: tuple[Join, ...] = (pairing.choice(SIGNED_KINDS),) if self.receipts else ()
        self.joins += (BROKEN,) if pairing.random() < 0.3 else ()
        self.alerts = (STUCK,) if pairing.random() < 0.5 else ()

    def script(self) -> Script:
        views, partitions = self.views, self.partitions
        starts = {place: self.draws.choice((0, 0, 3, 65_530)) for place in self.places}
        self.owners = {partition: [self._worker()] for partition in range(self.partitions)}
        steps = [*self._assigned(), *self._some_steps()]
        if self.seed % 7 == 3:  # behind all other draws: seeds keep their histories
            steps += self._wider()
        pairing = (self.receipts, self.joins, self.alerts)
        told = (*steps, *self._ends())
        return Script(self.seed, partitions, starts, views, *pairing, self.finals, told, self.branches)

    def _assigned(self) -> list[Step]:
        return [Assign(workers[-1], partition, told=True) for partition, workers in self.owners.items()]

    def _some_steps(self) -> list[Step]:
        return [self._step() for _ in range(self.draws.choice((12, 25, 40)) * self.partitions)]

    def _wider(self) -> list[Step]:
        """Windows are published, partitions are added, and the history goes on."""
        closed = self._closed_to(self.draws.choice((20, 60, 120)))
        self.partitions += self.draws.choice((1, 2))
        widen = Widen(self.partitions, self.draws.choice((0, 0, 1, 2, 3)))
        self.places = [TopicPartition(topic, p) for topic in self.topics for p in range(self.partitions)]
        self.owners = {partition: [self._worker()] for partition in range(self.partitions)}
        return [*closed, widen, *self._assigned(), *self._some_steps()]

    def _ends(self) -> list[Step]:
        """What closes all that merges: bit by bit, so that marks find some open. Finals that went come back."""
        steps: list[Step] = []
        if self.deploys and self.finals:
            steps += [self._deploy(), *self._assigned(), *self._closed_to(40), self._came_back()]
            steps += self._closed_to(self.draws.choice(ENDS_MINUTES))
        for minute in ENDS_MINUTES if self.merges else ():
            steps += self._closed_to(minute)
        return steps

    def _closed_to(self, minute: int) -> list[Step]:
        steps: list[Step] = [Request(place, START_US + minute * MINUTE_US, None) for place in self.places]
        return steps + [Run(owners[-1], partition, 80, minute) for partition, owners in sorted(self.owners.items())]

    def _step(self) -> Step:
        kinds: list[tuple[float, Callable[[], Step]]] = [
            (4, self._produce),
            (1, lambda: EndInput(self.draws.choice(INPUT_PRODUCERS), self.draws.random() < 0.7)),
            (0.6, self._request),
            (1.5 if self.correctable else 0, self._correct),
            (0.3, lambda: Idle(*self._held(), self._watermark_us())),
            (self.unrest, self._assign),
            (9, self._run),
            (self.unrest * 0.5, lambda: Kill(self._worker())),
            (0.7, lambda: Look(*self._held())),
            (0.7, lambda: Compact(self._partition(), self.draws.choice((0, 1, 10)))),
            (0 if self.deploys else 0.3, lambda: Delete(self.draws.choice(self.places), self.draws.choice((0, 1, 3)))),
            (0.2, lambda: TimeOut(self._partition())),
            (1, lambda: WriteControl(self._partition())),
            (1 if self.deploys else 0, self._deploy),
            (1 if self.rules_change else 0, self._new_rules),
        ]
        (kind,) = self.draws.choices([make for _, make in kinds], [weight for weight, _ in kinds])
        return kind()

    def _produce(self) -> Produce:
        place = self.draws.choice(self.places)
        samples = []
        for _ in range(self.draws.choice((1, 2, 4, 8))):
            clock_us = self.clocks.get(place, START_US) + self.draws.randint(0, 10) * MINUTE_US
            self.clocks[place] = clock_us
            samples.append(draw_sample(self.draws, self.topics[place.topic], clock_us))
        producer = self.draws.choice(INPUT_PRODUCERS) if self.draws.random() < 0.4 else None
        return Produce(place, tuple(samples), producer)

    def _request(self) -> Request:
        place = self.draws.choice(self.places)
        watermark_us, back = self._watermark_us(), self.draws.choice((None, 0, 3))
        return Request(place, watermark_us, back, self.draws.choice((*Flaw, *[None] * 12)))

    def _correct(self) -> Correct:
        what = self.draws.choice(("raise", "raise", "remove", "stale", "twice", "junk"))
        return Correct(self._partition(), self.draws.choice(self.correctable), self.draws.choice((0, 0, 0, 1, 3)), what)

    def _run(self) -> Run:
        calls = self.draws.choice((1, 2, 3, 4, 5, 8, 12, 25, 80))
        return Run(*self._held(), calls, self.draws.getrandbits(32))

    def _assign(self) -> Assign:
        partition = self._partition()
        # a rebalance may leave a task where it is, or bring it back to a worker that kept its state
        worker = self.draws.choice((*self.owners.get(partition, [])[-2:], self._worker()))
        self.owners.setdefault(partition, []).append(worker)
        return Assign(worker, partition, told=self.draws.random() < 0.5)

    def _held(self) -> tuple[str, int]:
        """A task and most often its owner, else a former one, who may not know that it is."""
        partition = self._partition()
        owners = self.owners.get(partition, [self._worker()])
        return (owners[-1] if self.draws.random() < 0.75 else self.draws.choice(owners[-3:])), partition

    def _deploy(self) -> Deploy:
        """Views come, change, go and come back."""
        others = [view for view in ALL_VIEWS if self.receipts or view.source is PARCELS]
        chosen = self.views if self.draws.random() < 0.5 else self.draws.sample(others, self.draws.choice((1, 1, 2, 3)))
        return Deploy(tuple(changed(view) if self.draws.random() < 0.4 else view for view in chosen))

    def _came_back(self) -> Deploy:
        return Deploy(tuple(view for view in ALL_VIEWS if view.name in self.finals))

    def _new_rules(self) -> NewRules:
        graces = tuple((view.name, self.draws.choice(GRACES_SECONDS)) for view in ALL_VIEWS)
        return NewRules(graces, self.draws.choice(SKEWS_SECONDS))

    def _watermark_us(self) -> int:
        return START_US + self.draws.choice((-60, 0, 20, 60, 300)) * MINUTE_US

    def _worker(self) -> str:
        return self.draws.choice(WORKERS)

    def _partition(self) -> int:
        return self.draws.randrange(self.partitions)
