"""What a run found, and the document that tells it. docs/reconciliation.md lists the fields."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from time import perf_counter
from typing import Any

from app.base.files.trail import RunFound
from app.base.files.verdicts import Begun, Finished, Verdict
from app.domain.view import View
from app.domain.windows.scope import Scope
from spark_batch.findings.results import PairingReport
from spark_batch.findings.view_report import ViewReport

LAYOUT = 7
REPORT = "report.json"


@dataclass
class Report:
    """One run. `reason` says in words why there is no verdict on the figures.

    `offsets_read`: of source topics, those that this run has read; the history held the others. `usable_today`: records
    refused for what was so then (an unknown schema, say), and that could be used now.
    `line`: the hash of the run's line in the trail, once it is there. `scope`: which windows were compared, None for
    all.
    """

    run_id: str
    application: str
    started_at: datetime
    versions: dict[str, str]
    verdict: Verdict = Verdict.INVALID
    reason: str | None = None
    finished_at: datetime | None = None
    views: list[ViewReport] = field(default_factory=list)
    pairings: list[PairingReport] = field(default_factory=list)
    records: int = 0
    offsets_read: int = 0
    usable_today: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    records_per_second: float | None = None
    line: str | None = None
    scope: Scope | None = None

    @property
    def compared(self) -> list[ViewReport | PairingReport]:
        return [*self.views, *self.pairings]

    @property
    def residual(self) -> int:
        return sum(one.residual for one in self.compared)

    @property
    def told_residual(self) -> int | None:
        """None where there is no verdict on the figures."""
        return self.residual if self.verdict in (Verdict.MATCH, Verdict.MISMATCH) else None

    @property
    def is_right(self) -> bool:
        return all(one.is_right for one in self.compared)

    @property
    def lacks_windows(self) -> bool:
        """Whether a time was asked for in which no view has a row, nor had one that has left."""
        scope = self.scope
        if scope is None or not scope.is_a_stretch:
            return False
        narrowed = [one for one in self.views if scope.narrows(one.view.window)]
        return bool(narrowed) and not any(one.has_windows for one in narrowed)

    @property
    def lacks_third(self) -> list[str]:
        """Why views were not compared with the third opinion that there is of them."""
        return [view.third.why_not for view in self.views if view.third is not None and view.third.why_not]

    @property
    def is_of_a_stretch(self) -> bool:
        """Whether its verdict is of some windows alone, and stands for no others."""
        return self.scope is not None and self.scope.is_a_stretch

    @property
    def begun(self) -> Begun:
        return Begun(run_id=self.run_id, begun_at=self.started_at)

    def found(self, views: Sequence[View]) -> dict[str, Finished]:
        """By the view's name, what a run that ended says of each. The run's own verdict is for those not compared."""
        compared = {view.view.name: view for view in self.views}
        return {view.name: self._found(compared.get(view.name)) for view in views}

    def _found(self, view: ViewReport | None) -> Finished:
        if self.finished_at is None:
            raise ValueError(f"run {self.run_id} has not ended")
        return Finished(
            **self.begun.model_dump(),
            finished_at=self.finished_at,
            verdict=self.verdict if view is None else view.verdict,
            residual=None if view is None else view.residual,
            reason=self.reason if view is None else None,
            scope=self.scope,
            report=f"{self.run_id}/{REPORT}",
            version=None if view is None else view.view.version,
            final_to_us=None if view is None else view.final_to_us,
        )

    @property
    def of_trail(self) -> RunFound:
        """What the trail tells of it."""
        if self.finished_at is None:
            raise ValueError(f"run {self.run_id} has not ended")
        return RunFound(
            run_id=self.run_id,
            application=self.application,
            started=self.started_at,
            finished=self.finished_at,
            verdict=self.verdict,
            residual=self.told_residual,
            reason=self.reason,
            scope=self.scope,
            views={one.name: one.verdict for one in self.compared},
        )

    @contextlib.contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Adds the seconds of a step."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = round(self.seconds.get(step, 0.0) + perf_counter() - begun, 3)

    def as_json(self) -> dict[str, Any]:
        return {
            "layout": LAYOUT,
            "run_id": self.run_id,
            "application": self.application,
            "scope": None if self.scope is None else asdict(self.scope),
            "verdict": self.verdict.value,
            "reason": self.reason,
            "started": self.started_at.isoformat(),
            "finished": None if self.finished_at is None else self.finished_at.isoformat(),
            "residual": self.told_residual,
            "versions": self.versions,
            "records": self.records,
            "offsets_read": self.offsets_read,
            "usable_today": self.usable_today,
            "records_per_second": self.records_per_second,
            "seconds": self.seconds,
            "views": [view.as_json() for view in self.views],
            "pairings": [pairing.as_json() for pairing in self.pairings],
        }


def new_run_id(now: datetime) -> str:
    """Sorts by time, and two runs of one second differ."""
    return f"{now:%Y%m%dT%H%M%S}-{os.urandom(2).hex()}"
