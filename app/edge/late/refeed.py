"""Re-feed refused records as corrections, and tell what became of each (rule 23; docs/late.md)."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.codecs.avro.schema import Schemas
from app.domain.catalogue import Catalogue
from app.domain.contribution import key_of
from app.domain.corrections.correction import Correction, Refusal
from app.domain.corrections.refeed import WORDS, Fed, ViewStanding, place_of, plan_refeed
from app.domain.records import Place, Record
from app.domain.source import Source, with_derived
from app.domain.view import View
from app.edge.late.corrector import APPLIED, Corrector
from app.edge.late.mending import NO_SOURCE, Mended, usable
from app.edge.late.originals import Originals
from app.edge.late.refused import LATE, RefusedRecord
from app.edge.late.standing import Outcomes, standing

ROUNDS = 5
"""So often a row is asked for again that somebody else has corrected meanwhile."""
WOULD_APPLY, LEFT = "would_apply", "left"
"""Outcomes beside those of corrections that were sent."""


class RecordOutcome(NamedTuple):
    """What became of one record in one view; "" stands for no view at all."""

    place: Place
    view: str
    outcome: str
    why: str | None = None

    @property
    def words(self) -> str:
        return "" if self.why is None else WORDS.get(self.why, self.why.replace("_", " "))


@dataclass(frozen=True)
class Changed:
    """A row of a task before and after, as a correction sets it."""

    view: View
    partition: int
    correction: Correction


class Refeeding:
    """One run. `changes`: what was, or would be, corrected."""

    def __init__(
        self, settings: Settings, catalogue: Catalogue, worker: WorkerDoor, wait_seconds: float, *, dry: bool
    ) -> None:
        self._catalogue, self._worker, self._dry = catalogue, worker, dry
        self._outcomes = {group.name: Outcomes(settings, group.name) for group in catalogue.groups}
        self._whole = Originals(settings.kafka)
        self.run = f"refeed-{uuid.uuid4().hex[:12]}"
        sent_to = [] if dry else [one.topic for one in self._outcomes.values()]
        self._corrector = Corrector(settings, self.run, wait_seconds, sent_to)
        self.changes: list[Changed] = []

    def feed(
        self,
        refused: Iterable[RefusedRecord],
        schemas: Schemas,
        mended: Mapping[Place, Mended],
        only: Collection[str] = (),
    ) -> Iterator[RecordOutcome]:
        """Add the records to the views that refused them (`only` to these, if any are named), task by task."""
        by_task: dict[tuple[str, int], list[Fed]] = defaultdict(list)
        for place, found in _by_place(refused).items():
            source = self._catalogue.by_topic.get(place.topic)
            if source is None:
                yield RecordOutcome(place, "", LEFT, NO_SOURCE)
                continue
            record = self._usable(source, found[0], schemas, mended.get(place))
            for name, why in views_wanted(found, [v for v in self._catalogue.views if v.source == source]):
                if only and name not in only:
                    continue
                if isinstance(record, str):
                    yield RecordOutcome(place, name, LEFT, record)
                elif why is not None:
                    yield RecordOutcome(place, name, LEFT, why)
                else:
                    by_task[name, place.partition].append(Fed(record, found[0].reason == LATE))
        for (name, partition), fed in sorted(by_task.items()):
            yield from self._feed_task(self._catalogue.view(name), partition, fed)

    def _usable(self, source: Source, refused: RefusedRecord, schemas: Schemas, mended: Mended | None) -> Record | str:
        return usable(source, self._whole(refused) if mended is None else refused, schemas, mended)

    def _feed_task(self, view: View, partition: int, fed: Sequence[Fed]) -> Iterator[RecordOutcome]:
        """Plan, send and wait; plan again for records whose row was corrected by somebody else meanwhile."""
        for last in (*[False] * (ROUNDS - 1), True):
            plan = plan_refeed(view, self._standing(view, partition, fed), fed, self.run)
            yield from (RecordOutcome(one.place, view.name, LEFT, one.why) for one in plan.not_added)
            if self._dry:
                self.changes += [Changed(view, partition, one) for one in plan.corrections]
                yield from (RecordOutcome(p, view.name, WOULD_APPLY) for one in plan.corrections for p in one.adds)
                return
            again = set[Place]()
            for correction, outcome, why in self._corrector.correct(
                self._outcomes_of(view), partition, plan.corrections
            ):
                if why == Refusal.MOVED_ON and not last:
                    again.update(correction.adds)
                    continue
                if outcome == APPLIED:
                    self.changes.append(Changed(view, partition, correction))
                yield from (RecordOutcome(place, view.name, outcome, why) for place in correction.adds)
            fed = [one for one in fed if place_of(one.record) in again]
            if not fed:
                return

    def _standing(self, view: View, partition: int, fed: Sequence[Fed]) -> ViewStanding:
        keys = (key_of(view, with_derived(view.source, one.record.values)) for one in fed)
        windows = {key.window_start_us for key in keys if key is not None and key.window_start_us is not None}
        return standing(self._worker, self._outcomes_of(view), view, partition, windows)

    def _outcomes_of(self, view: View) -> Outcomes:
        return self._outcomes[self._catalogue.group_of(view.source).name]


def _by_place(refused: Iterable[RefusedRecord]) -> dict[Place, list[RefusedRecord]]:
    """Each record once, with all that was told of it: a view that is built again tells of its late records again."""
    found: dict[Place, list[RefusedRecord]] = defaultdict(list)
    for record in refused:
        found[record.place].append(record)
    return found


def views_wanted(found: Sequence[RefusedRecord], views: Sequence[View]) -> Iterator[tuple[str, str | None]]:
    """Names of the views that the record may be added to, whatever they were called then; of others that it was late
    for, why it may not."""
    if found[0].reason != LATE:
        yield from ((view.name, None) for view in views)
        return
    names = {view.version: view.name for view in views}
    late_for = [told for record in found for told in record.views.items()]
    mine = {names[version] for _, version in late_for if version in names}
    yield from ((name, None) for name in sorted(mine))
    for name in sorted({name for name, version in late_for if version not in names} - mine):
        yield name, Refusal.OTHER_VERSION if name in names.values() else Refusal.NO_SUCH_VIEW
