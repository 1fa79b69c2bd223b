"""Set rows that differ to what their records make them, by corrections (rules 23, 25; docs/reconciliation.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from app.base.settings import Settings
from app.domain.catalogue import Catalogue
from app.domain.corrections.correction import Correction
from app.domain.corrections.repair import RepairPlan
from app.domain.view import View
from app.edge.late.corrector import Corrector
from app.edge.late.standing import Outcomes


class RepairOutcome(NamedTuple):
    """What became of the correction of one row."""

    view: View
    partition: int
    outcome: str
    why: str | None


def repair(
    settings: Settings,
    catalogue: Catalogue,
    plans: Sequence[tuple[View, RepairPlan]],
    run_id: str,
    wait_seconds: float,
) -> Iterator[RepairOutcome]:
    """Send the plans' corrections, task by task, and tell what became of each. None is tried again: a row that moved
    on is looked at by the next run."""
    outcomes = {group.name: Outcomes(settings, group.name) for group in catalogue.groups}
    corrector = Corrector(settings, f"repair-{run_id}", wait_seconds, [one.topic for one in outcomes.values()])
    for view, plan in plans:
        by_task: dict[int, list[Correction]] = defaultdict(list)
        for one in plan.repairs:
            by_task[one.partition].append(one.correction)
        told = outcomes[catalogue.group_of(view.source).name]
        for partition, corrections in sorted(by_task.items()):
            for judged in corrector.correct(told, partition, corrections):
                yield RepairOutcome(view, partition, judged.outcome, judged.why)
