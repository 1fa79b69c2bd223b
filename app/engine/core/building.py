"""A view that is new to a running application: it reads again what its task has read, beside the others (rule 13)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.base import names
from app.codecs.avro.schema import Schemas
from app.domain.advance import Advance, obeyed
from app.domain.errors import StateError
from app.domain.marker import BUILDING, LIVE, BuildPosition, Marker, ViewPosition
from app.domain.rules.epochs import SkewEpoch, epoch_at
from app.domain.view import View
from app.engine.core.batch import Batch
from app.engine.core.completing import built_so_far
from app.engine.core.definition import Role, TaskDefinition
from app.engine.core.draft import Draft
from app.engine.core.epochs import of_one_skew
from app.engine.core.records.refusals import late_output
from app.engine.core.records.usable import Usable, usable_records
from app.engine.core.results.corrections import correct_again
from app.engine.core.results.gathering import take_again
from app.engine.core.views.folding import UsableBatch, fold_views


class Stretch(NamedTuple):
    """Where a building view reads on in a topic, and where the task has read to."""

    topic: str
    from_offset: int
    to_offset: int


def next_stretch(views: Iterable[View], marker: Marker) -> Stretch | None:
    """What is to be read again next; None if none of the views is being built.

    The last of a view may be what became of corrections.
    """
    for position in (marker.views[view.name] for view in views):
        if position.state != BUILDING:
            continue
        for topic, built in sorted(position.built.items()):
            if built.next_offset < marker.inputs[topic].next_offset:
                return Stretch(topic, built.next_offset, marker.inputs[topic].next_offset)
        if (again := position.corrections_again) is not None:
            return Stretch(names.corrected_topic(marker.application), again.from_offset, again.to_offset)
    return None


def build_progress(views: Iterable[View], marker: Marker) -> dict[str, tuple[int, int]]:
    """Of each view that is being built, how many offsets it has read again, and how many there are."""
    progress = {}
    for view in views:
        position = marker.views.get(view.name)
        if position is not None and position.state != LIVE:
            topics = position.start.keys() & position.built.keys()
            done = sum(position.built[topic].next_offset - position.start[topic] for topic in topics)
            there = sum(marker.inputs[topic].next_offset - position.start[topic] for topic in topics)
            progress[view.name] = (done, there)
    return progress


def build(draft: Draft, batch: Batch, advances: Sequence[Advance], schemas: Schemas) -> None:
    """Fold what was read again into the views that wait for just it: records, closings, what became of corrections.

    `advances` are all that were written for the batch's topic-partition. A view that has read all that its task has
    read goes live in this transaction. What was quarantined once is not quarantined again; late records are told of,
    for these views.
    """
    if batch.topic == names.corrected_topic(draft.application):
        return correct_again(draft, batch)
    read = draft.marker.inputs[batch.topic]
    batch = batch.until(read.next_offset)
    views = [view for view in draft.definition.views if _waits_for(draft.marker.views[view.name], batch)]
    if not views:
        raise StateError(f"{batch.topic}-{batch.partition}: no view is being built at offset {batch.base_offset}")
    if draft.definition.roles[batch.topic] == Role.CLOSINGS:
        return _gather_again(draft, views, batch)
    batch = of_one_skew(batch, read.skews)
    watermark_us = max(draft.marker.views[view.name].built[batch.topic].watermark_us for view in views)
    again = read_again(draft.definition, batch, read.skews, watermark_us, advances, schemas)
    (late_for,) = fold_views(draft, views, [UsableBatch(batch, again.usable)])
    for index, late in sorted(late_for.items()):
        draft.outputs.append(late_output(draft.definition, batch, index, late))
    reached = BuildPosition(batch.next_offset, again.watermark_us)
    for view in views:
        draft.move_view(view.name, _moved(draft.marker, view, batch.topic, reached))


def _gather_again(draft: Draft, views: Iterable[View], batch: Batch) -> None:
    """What tasks have closed while this one did not know the views."""
    for view in views:
        take_again(draft, view, batch)
        draft.move_view(view.name, _moved(draft.marker, view, batch.topic, BuildPosition(batch.next_offset)))


class ReadAgain(NamedTuple):
    """What of a batch can be used, how many records cannot, and the watermark behind it."""

    usable: Usable
    refused: int
    watermark_us: int


def read_again(
    definition: TaskDefinition,
    batch: Batch,
    skews: Sequence[SkewEpoch],
    watermark_us: int,
    advances: Sequence[Advance],
    schemas: Schemas,
) -> ReadAgain:
    """A batch (`of_one_skew`) as its task judged it when it read it first; `watermark_us` is the one before it."""
    source = definition.by_topic[batch.topic]
    advances = obeyed(advances, source)
    columns, epoch = definition.columns_of(source), epoch_at(skews, batch.base_offset)
    usable, refused = usable_records(source, batch, watermark_us, schemas, columns, epoch)
    usable = _advanced(usable, batch, advances)
    raised = [a.watermark_us for a in advances if a.at_offset <= batch.next_offset]
    seen = usable.watermarks_us[-1:].tolist()
    return ReadAgain(usable, len(refused), max([watermark_us, *seen, *raised]))


def _waits_for(position: ViewPosition, batch: Batch) -> bool:
    built = position.built.get(batch.topic)
    return position.state == BUILDING and built is not None and built.next_offset == batch.base_offset


def _advanced(usable: Usable, batch: Batch, advances: Iterable[Advance]) -> Usable:
    """With the watermarks raised that were raised without a record."""
    offsets = batch.offsets[usable.index]
    for advance in advances:
        usable = usable.raised(offsets >= advance.at_offset, advance.watermark_us)
    return usable


def _moved(marker: Marker, view: View, topic: str, reached: BuildPosition) -> ViewPosition:
    position = marker.views[view.name]
    return built_so_far(replace(position, built=position.built | {topic: reached}), marker.inputs)
