"""The workers of a simulated cluster: who holds which task, who only believes so, and what each does next."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from app.domain.errors import StateError
from app.engine.core.definition import TaskDefinition
from app.engine.core.task_state import TaskState
from app.testkit.cluster.broker import Broker, ProducerFenced
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.simulation.samples import SCHEMAS


@dataclass
class Workers:
    """Tasks by worker and partition; `definition` is that of the present release, which new holds on tasks have.

    `idle_advances_us`: watermarks that workers may have raised of their own accord.
    """

    broker: Broker
    definition: TaskDefinition
    tasks: dict[tuple[str, int], SimulatedTask] = field(default_factory=dict)
    idle_advances_us: set[int] = field(default_factory=set)
    tally: Counter[str] = field(default_factory=Counter)
    _owners: dict[int, str] = field(default_factory=dict)
    _kept: dict[tuple[str, int], TaskState] = field(default_factory=dict)

    def new_task(self, partition: int, draws: random.Random, kept: TaskState | None = None) -> SimulatedTask:
        """A hold on a task, by a worker of the present release."""
        return SimulatedTask(self.broker, self.definition, partition, SCHEMAS, draws, kept)

    def assign(self, worker: str, partition: int, *, told: bool) -> None:
        """Let a worker take a task over. A former owner that is not told goes on: a zombie."""
        former = self._owners.get(partition)
        if former is not None and (told or former == worker):
            self._hand_over(former, partition)
        kept = self._kept.pop((worker, partition), None)
        if kept is not None and {held.view for held in kept.views.values()} != set(self.definition.views):
            kept = None  # views and their rules change with a new process only
        self._owners[partition] = worker
        self.tasks[worker, partition] = self.new_task(partition, random.Random(0), kept)

    def run(self, worker: str, partition: int, calls: int, draws: int) -> None:
        """Let a worker make some calls to the broker for a task, if it holds it; fewer if nothing is to be done."""
        task = self.tasks.get((worker, partition))
        if task is None:
            return
        task.draws = random.Random(draws)
        try:
            for _ in range(calls):
                task.step()
                if task.is_idle:
                    break
        except ProducerFenced:
            self._drop_fenced(worker, partition)
        except StateError:  # what a fenced worker still wants to read may be gone
            if not task.is_fenced:
                raise
            self._drop_fenced(worker, partition)

    def advance_idle(self, worker: str, partition: int, watermark_us: int) -> None:
        """When it finds nothing to do, a worker is to raise a watermark by itself."""
        if (worker, partition) in self.tasks:
            self.tasks[worker, partition].idle_advance_us = watermark_us
            self.idle_advances_us.add(watermark_us)

    def kill(self, worker: str) -> None:
        """A worker is gone, with all it held."""
        held = [task for (name, _), task in self.tasks.items() if name == worker]
        self.tally["tasks killed"] += len(held)
        self.tally["killed in a transaction"] += sum(task.is_writing for task in held)
        self.tasks = {of: task for of, task in self.tasks.items() if of[0] != worker}
        self._kept = {of: state for of, state in self._kept.items() if of[0] != worker}

    def are_readers_of(self, partition: int) -> bool:
        """Whether somebody reads a task's changelog, or may go on reading it from the middle."""
        reading = any(task.core is None for (_, p), task in self.tasks.items() if p == partition)
        return reading or any(p == partition for _, p in self._kept)

    def _hand_over(self, worker: str, partition: int) -> None:
        """Finish the transaction under way and stop; the state is kept for a while if it is sure to equal the log."""
        task = self.tasks.get((worker, partition))
        try:
            while task is not None and task.is_writing:
                task.step()
        except ProducerFenced:
            self._drop_fenced(worker, partition)
            return
        self.tasks.pop((worker, partition), None)
        if task is not None and task.core is not None:
            self._kept[worker, partition] = task.core.state

    def _drop_fenced(self, worker: str, partition: int) -> None:
        del self.tasks[worker, partition]
        self.tally["workers fenced"] += 1
