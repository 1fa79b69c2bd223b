"""What a task has taken and cannot read yet: kept aside until its schemas are told, while other topics go on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set
from typing import NamedTuple

from app.codecs.avro.schema import Schemas, WriterSchema
from app.engine.core.batch import Batch
from app.engine.drive.callbacks import OnAnswer
from app.engine.drive.kafka.schemas import SchemaCache
from app.engine.drive.waiting import TakenBatch


def schema_ids(batch: Batch) -> set[int]:
    """By which the batch's records say that they were written."""
    return {int(schema_id) for schema_id in batch.packed.schema_ids}


class _Asked(NamedTuple):
    taken: TakenBatch
    question: asyncio.Task[Schemas]


class Withheld:
    """At most one batch of a topic, and the question to the registry that it waits for.

    `on_answer` is called, on the loop, whenever `take_answered` may have more to give.
    """

    def __init__(self, schemas: SchemaCache, on_answer: OnAnswer) -> None:
        self._schemas, self._on_answer = schemas, on_answer
        self._asked: dict[str, _Asked] = {}

    @property
    def topics(self) -> Set[str]:
        """Of which a batch is kept aside, now and whenever this is looked at: what follows it must wait."""
        return self._asked.keys()

    @property
    def ahead(self) -> list[Batch]:
        """The batches that are kept aside."""
        return [asked.taken.batch for asked in self._asked.values()]

    def readable(self, taken: Sequence[TakenBatch]) -> tuple[list[TakenBatch], Schemas]:
        """Those whose schemas are known, and these. The others are kept aside, and the registry is asked."""
        readable, schemas = list[TakenBatch](), dict[int, WriterSchema | None]()
        for one in taken:
            known = self._schemas.known(schema_ids(one.batch))
            if known is None:
                self._ask(one)
            else:
                readable.append(one)
                schemas.update(known)
        return readable, schemas

    def take_answered(self) -> tuple[TakenBatch, Schemas] | None:
        """One whose schemas have been told since, with them. It raises what asking has raised, and keeps the batch."""
        for topic, asked in self._asked.items():
            if asked.question.done():
                schemas = asked.question.result()
                del self._asked[topic]
                return asked.taken, schemas
        return None

    def drop(self) -> None:
        """Ask no more: all of it is the next owner's."""
        for asked in self._asked.values():
            asked.question.cancel()
        self._asked.clear()

    def _ask(self, taken: TakenBatch) -> None:
        topic, ids = taken.batch.topic, schema_ids(taken.batch)
        question = asyncio.create_task(self._schemas.having(ids), name=f"schemas of {topic}-{taken.batch.partition}")
        question.add_done_callback(lambda _: self._on_answer())
        self._asked[topic] = _Asked(taken, question)
