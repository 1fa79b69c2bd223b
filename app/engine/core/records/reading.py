"""A batch decoded and judged: the first half of a plan, a step of its own for whoever must not be held for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from app.codecs.avro.schema import Schemas
from app.domain.errors import StateError
from app.domain.marker import InputPosition
from app.domain.source import Source
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.engine.core.records.usable import Usable, usable_records


class UsableRecords(NamedTuple):
    """A batch's usable records, and (index in the batch, reason) of the others."""

    source: Source
    usable: Usable
    refused: list[tuple[int, str]]


class Read(NamedTuple):
    """What of a batch lies behind the task's position; no records if its topic has none of a source.

    `schemas`: fingerprints of those that its records name, by id.
    """

    batch: Batch
    position: InputPosition
    records: UsableRecords | None
    schemas: Mapping[str, str] = MappingProxyType({})


def read_batch(definition: TaskDefinition, batch: Batch, position: InputPosition, schemas: Schemas) -> Read | None:
    """The batch as the task at this position has to take it; None if all of it lies below."""
    new = _behind(batch, position)
    if new is None:
        return None
    source = definition.by_topic.get(batch.topic)
    if source is None:
        return Read(new, position, None)
    usable, refused = usable_records(source, new, position.watermark_us, schemas, definition.columns_of(source))
    met = {str(number): schema.fingerprint for number in new.packed.schema_ids if (schema := schemas[number])}
    return Read(new, position, UsableRecords(source, usable, refused), met)


def passed(
    batch: Batch, position: InputPosition, *, quarantined: int, watermark_us: int | None = None
) -> InputPosition:
    """The position behind the batch; the watermark stays where none is given."""
    not_records = batch.next_offset - batch.base_offset - len(batch)
    return replace(
        position,
        next_offset=batch.next_offset,
        watermark_us=position.watermark_us if watermark_us is None else watermark_us,
        decoded=position.decoded + len(batch) - quarantined,
        quarantined=position.quarantined + quarantined,
        not_records=position.not_records + not_records,
    )


def _behind(batch: Batch, position: InputPosition) -> Batch | None:
    if batch.next_offset <= position.next_offset:
        return None
    if batch.base_offset > position.next_offset:
        raise StateError(
            f"{batch.topic}-{batch.partition}: the batch begins at offset {batch.base_offset}, but the state "
            f"covers only what is below {position.next_offset}; the task must be taken over again"
        )
    return batch.since(position.next_offset) if batch.base_offset < position.next_offset else batch
