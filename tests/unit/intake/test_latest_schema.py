"""A schema in hand is used at once, however the registry fares; who has none waits for its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, cast

import pytest

from app.base.errors import RegistryUnavailable
from app.base.registry.client import Registry, Version
from app.codecs.avro.schema import WriterSchema
from app.edge.intake import latest_schema
from app.edge.intake.latest_schema import LatestSchema, NoSchemaFits
from app.rides.ride import RIDES, avro_schema
from tests.support.machine.waiting import patient, wait_for

TOPIC = RIDES.topics[0].name
FIRST, SECOND = avro_schema(), avro_schema() | {"doc": "The second."}


class AskedRegistry:
    """Each question waits for a test's answer: schemas, or what is raised."""

    def __init__(self) -> None:
        self.questions: SimpleQueue[Future[list[Any]]] = SimpleQueue()
        self.last: Future[list[Any]] = Future()

    def versions(self, subject: str) -> list[Version]:
        assert subject == f"{TOPIC}-value"
        question = self.last = Future()
        self.questions.put(question)
        schemas = question.result(patient(30))
        return [Version(n, WriterSchema(n, json.dumps(schema))) for n, schema in enumerate(schemas, 1)]

    def asked(self) -> Future[list[Any]]:
        """The next question, once it was put."""
        return self.questions.get(timeout=patient(30))


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> AskedRegistry:
    monkeypatch.setattr(latest_schema, "SCHEMA_SECONDS", 0.0)  # asked again at once
    return AskedRegistry()


@pytest.fixture
def schema(registry: AskedRegistry) -> Iterator[LatestSchema]:
    schema = LatestSchema(RIDES, TOPIC, cast(Registry, registry))
    yield schema
    schema.end()
    if not registry.last.done():
        registry.last.set_result([FIRST])


def in_hand(schema: LatestSchema) -> int:
    held = schema.writer()
    assert held.done()
    return held.result().schema.id


def test_a_schema_in_hand_is_used_while_the_registry_is_asked_and_then_the_later_one(
    registry: AskedRegistry, schema: LatestSchema
) -> None:
    first = schema.writer()
    registry.asked().set_result([FIRST])
    assert first.result(patient(30)).schema.id == 1
    again = registry.asked()
    assert in_hand(schema) == 1
    again.set_result([FIRST, SECOND])
    registry.asked().set_result([FIRST, SECOND])
    assert in_hand(schema) == 2
    registry.asked()
    assert registry.questions.empty()


def test_a_silent_registry_is_told_of_once_and_changes_no_schema(
    registry: AskedRegistry, schema: LatestSchema, caplog: pytest.LogCaptureFixture
) -> None:
    schema.writer()
    registry.asked().set_result([FIRST])
    for _ in range(3):
        registry.asked().set_exception(RegistryUnavailable("it is silent"))
    answered = registry.asked()
    assert in_hand(schema) == 1
    told = f"records of {TOPIC} are taken by schema 1 on: it is silent"
    assert [record.getMessage() for record in caplog.records] == [told]
    answered.set_result([FIRST])
    registry.asked().set_exception(RegistryUnavailable("it is silent"))
    registry.asked()
    assert [record.getMessage() for record in caplog.records] == [told, told]


def test_requests_without_a_schema_wait_for_one_question_and_the_next_asks_anew(
    registry: AskedRegistry, schema: LatestSchema
) -> None:
    waiting = [schema.writer() for _ in range(3)]
    waiting[0].cancel()  # who gives up takes nobody else's answer away
    registry.asked().set_exception(RegistryUnavailable("it is silent"))
    for one in waiting:
        with pytest.raises(RegistryUnavailable, match="silent"):
            one.result(patient(30))
    assert registry.questions.empty()
    later = schema.writer()
    registry.asked().set_result([FIRST])
    assert later.result(patient(30)).schema.id == 1


@pytest.mark.parametrize("schemas", [[], [{"type": "record", "name": "other", "fields": []}]])
def test_a_subject_without_a_schema_that_fits_takes_the_one_in_hand_away(
    registry: AskedRegistry, schema: LatestSchema, schemas: list[Any]
) -> None:
    schema.writer()
    registry.asked().set_result([FIRST])
    registry.asked().set_result(schemas)
    wait_for(lambda: not schema.writer().done(), "it is asked for anew")
    anew = schema.writer()
    registry.asked().set_result(schemas)
    with pytest.raises(NoSchemaFits, match=f"{TOPIC}-value"):
        anew.result(patient(30))
