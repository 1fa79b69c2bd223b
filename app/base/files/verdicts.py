"""`latest.json` beside the runs of `flagfall reconcile`: per application and view, which run began last and what the
last one found.

Writer and readers (page, metrics, `flagfall status`) share the models below. Applications may share a data directory,
and none is told another's verdict. A run writes that it began before it
looks at anything, and its verdicts at its end; one that crashed has begun and not finished, beside the verdict of
the run before it.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from app.base.files.whole_file import write_whole
from app.domain.errors import FlagfallError
from app.domain.windows.scope import Scope

RUNS = "reconciliation"
"""Where the runs are, below the data directory."""
LATEST = "latest.json"


log = logging.getLogger(__name__)


class Verdict(StrEnum):
    MATCH = "MATCH"
    MISMATCH = "MISMATCH"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"

    @property
    def exit_code(self) -> int:
        return {"MATCH": 0, "MISMATCH": 10, "INCONCLUSIVE": 11, "INVALID": 12}[self.value]


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True)


class Begun(_Written):
    """A run that began; `run_id` is the name of its folder."""

    run_id: str
    begun_at: AwareDatetime


class Finished(Begun):
    """A run that ended, and what it found of one view.

    `residual`: rows that differ unexplained, None where nothing was compared; `reason`: why there is no verdict on
    the figures; `report`: the report's place beside this file; `scope`: which windows were compared, None for all;
    `cut_at`: when the last run began that compared the view, None where none has. `version`: of the view that was
    compared, None where none was; `final_to_us`: its windows that had ended by then took no more records at the cut.
    """

    finished_at: AwareDatetime
    verdict: Verdict
    residual: int | None
    reason: str | None
    report: str
    scope: Scope | None = None
    cut_at: AwareDatetime | None = None
    version: str | None = None
    final_to_us: int | None = None


class Checked(_Written):
    """One view: the run that began last, and the last that ended, None before the first."""

    begun: Begun
    finished: Finished | None = None

    @property
    def unfinished(self) -> Begun | None:
        """The later run that began and did not end, or has not yet."""
        return None if self.finished is not None and self.finished.run_id == self.begun.run_id else self.begun


class Latest(_Written):
    """The whole file: views by name, by application."""

    layout: Literal[3] = 3
    applications: dict[str, dict[str, Checked]]


class Nobodys(_Written):
    """A file of an earlier release: its verdicts do not say whose they are, so they are nobody's."""

    layout: Literal[2]


_FILE: TypeAdapter[Latest | Nobodys] = TypeAdapter(Annotated[Latest | Nobodys, Field(discriminator="layout")])


class LatestUnreadable(FlagfallError):
    """The file is there and makes no sense. The next run writes it anew."""


@dataclass(frozen=True)
class LastVerdicts:
    """One application's in `runs`, the folder of the runs."""

    runs: Path
    application: str

    def read(self) -> Mapping[str, Checked]:
        """By view; empty before the first. Raises LatestUnreadable."""
        return _read(self.runs / LATEST).applications.get(self.application, {})

    def last_known(self) -> Mapping[str, Checked]:
        """The same, read anew only where the file is another one; empty, with a warning, where it makes no sense."""
        file = self.runs / LATEST
        try:
            held = file.stat()
        except OSError:
            return {}
        return _held(file, held.st_ino, held.st_mtime_ns, held.st_size).get(self.application, {})

    def write_begun(self, views: Sequence[str], begun: Begun) -> None:
        """Say of these views, before anything else is done, that a run began. The others' entries stay."""
        with self._changed() as known:
            known |= {view: Checked(begun=begun, finished=_finished(known, view)) for view in views}

    def write_finished(self, found: Mapping[str, Finished]) -> None:
        """Say what a run found of each view. A later run that has begun meanwhile stays told."""
        with self._changed() as known:
            for view, finished in found.items():
                before = known.get(view)
                runs_begun = [Begun(run_id=finished.run_id, begun_at=finished.begun_at)]
                runs_begun += [before.unfinished] if before is not None and before.unfinished is not None else []
                begun = max(runs_begun, key=lambda run: run.begun_at)
                known[view] = Checked(begun=begun, finished=_with_cut(finished, before))

    @contextlib.contextmanager
    def _changed(self) -> Iterator[dict[str, Checked]]:
        """The entries, to be changed; two runs at once wait for one another. An unreadable file begins anew."""
        self.runs.mkdir(parents=True, exist_ok=True)
        with (self.runs / ".latest.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                held = _read(self.runs / LATEST).applications
            except LatestUnreadable:
                held = {}
            known = dict(held.get(self.application, {}))
            yield known
            latest = Latest(applications={**held, self.application: known})
            write_whole(self.runs / LATEST, latest.model_dump_json(indent=2).encode())


@functools.lru_cache(maxsize=1)
def _held(file: Path, *_: int) -> Mapping[str, Mapping[str, Checked]]:
    try:
        return _read(file).applications
    except LatestUnreadable as error:
        log.warning("%s", error)
        return {}


def _with_cut(finished: Finished, before: Checked | None) -> Finished:
    last = None if before is None or before.finished is None else before.finished.cut_at
    return finished.model_copy(update={"cut_at": last if finished.residual is None else finished.begun_at})


def _read(file: Path) -> Latest:
    try:
        held = _FILE.validate_json(file.read_bytes())
    except FileNotFoundError:
        return Latest(applications={})
    except (OSError, ValidationError) as error:
        raise LatestUnreadable(
            f"{file} cannot be read; the next `flagfall reconcile` writes it anew: {error}"
        ) from error
    return held if isinstance(held, Latest) else Latest(applications={})


def _finished(known: Mapping[str, Checked], view: str) -> Finished | None:
    return known[view].finished if view in known else None
