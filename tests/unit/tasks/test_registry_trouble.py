"""A registry that gives trouble: ids that are known go on, unknown ones wait, and nothing is decided meanwhile."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from app.base.errors import RegistryUnavailable
from app.base.registry import client as registry
from app.base.registry.client import Registry
from app.base.settings import Settings
from app.codecs.avro.admission import is_readable
from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import WriterSchema
from app.engine.drive.kafka import schemas
from app.engine.drive.kafka.schemas import SchemaCache
from app.rides.ride import RIDES
from tests.support.fake_registry import (
    CONTRACT,
    MEDIA_TYPE,
    TROUBLES,
    FakeRegistry,
    contract,
    fake_registry,
    saying,
)

pytestmark = pytest.mark.unit

NUMBER, KNOWN = 7, 8


@pytest.fixture
async def fake(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeRegistry]:
    monkeypatch.setattr(registry, "RETRIES", 0)
    monkeypatch.setattr(schemas, "FIRST_WAIT_SECONDS", 0.01)
    async with fake_registry() as running:
        running.schemas |= {NUMBER: '"string"', KNOWN: '"long"'}
        yield running


def asking(fake: FakeRegistry, timeout_seconds: float = 60.0) -> Registry:
    return Registry(Settings().model_copy(update={"registry_url": fake.url}), timeout_seconds=timeout_seconds)


async def test_it_answers_as_a_real_one_when_it_gives_none(fake: FakeRegistry) -> None:
    fake.schemas.clear()
    assert await asyncio.to_thread(contract, fake.url) == CONTRACT


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_an_id_waits_out_any_trouble_and_is_never_called_unknown(fake: FakeRegistry, trouble: str) -> None:
    patience_seconds = 0.2 if trouble in {"silence", "an answer without end"} else 60.0
    cache = SchemaCache(asking(fake, patience_seconds).writer_schema, RegistryUnavailable)
    known = await cache.having([KNOWN])
    fake.trouble = TROUBLES[trouble]
    waiting = asyncio.create_task(cache.having([NUMBER]))
    async with asyncio.timeout(60):
        while not (cache.awaited and cache.awaited[0].why):
            await asyncio.sleep(0.005)
        assert fake.url in cache.awaited[0].why
        assert len(cache.awaited[0].why) < 600
        assert await cache.having([KNOWN]) == known
        assert not waiting.done()
        fake.trouble = None
        found = (await waiting)[NUMBER]
    assert found is not None
    assert (found.text, cache.awaited) == ('"string"', [])


async def test_a_registry_that_is_given_back_the_schemas_it_had_is_believed_again(fake: FakeRegistry) -> None:
    """What it said meanwhile was refused, and must not be kept by anybody."""
    before = SchemaCache(asking(fake).writer_schema, RegistryUnavailable)
    read_by = (await before.having([NUMBER]))[NUMBER]
    assert read_by is not None
    cache = SchemaCache(asking(fake).writer_schema, RegistryUnavailable)
    cache.expect({str(NUMBER): read_by.fingerprint})
    fake.schemas[NUMBER] = '"double"'
    waiting = asyncio.create_task(cache.having([NUMBER]))
    async with asyncio.timeout(60):
        while not (cache.awaited and "another schema" in cache.awaited[0].why):
            await asyncio.sleep(0.005)
        fake.schemas[NUMBER] = '"string"'
        assert await waiting == {NUMBER: read_by}


async def test_a_schema_that_is_larger_than_any_that_is_read_is_a_decision(fake: FakeRegistry) -> None:
    """It is the registry's word; waiting for another would hold the partition for ever."""
    fake.trouble = saying(200, '{"schema": "' + " " * 9_000_000 + '"}', MEDIA_TYPE)
    found = await asyncio.to_thread(asking(fake).writer_schema, NUMBER)
    assert found is not None
    assert not is_readable(found, RIDES.columns)
    with pytest.raises(RegistryUnavailable, match="more than 8000000 bytes"):
        await asyncio.to_thread(asking(fake).register, "rides.yellow-value", record_schema(RIDES))


@pytest.mark.parametrize(
    ("now", "words"),
    [('"bytes"', "records were read by schema id 7 .* holds another schema"), (None, "the registry has it no more")],
)
async def test_an_id_by_which_records_were_read_waits_while_the_registry_says_something_else(
    fake: FakeRegistry, now: str | None, words: str
) -> None:
    """One that lost its data, or another at its address: to a worker that has just started its answer looks fine."""
    read = {str(NUMBER): WriterSchema(NUMBER, ' "string"').fingerprint}
    fake.schemas |= {NUMBER: now} if now else {}
    if now is None:
        del fake.schemas[NUMBER]
    cache = SchemaCache(asking(fake).writer_schema, RegistryUnavailable)
    cache.expect(read)
    waiting = asyncio.create_task(cache.having([NUMBER, KNOWN]))
    async with asyncio.timeout(60):
        while not (cache.awaited and cache.awaited[0].why):
            await asyncio.sleep(0.005)
        assert re.search(words, cache.awaited[0].why)
        assert (await cache.having([KNOWN]))[KNOWN] is not None
        assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])


async def test_a_registry_that_has_its_schemas_back_is_believed(fake: FakeRegistry) -> None:
    """However it lays their texts out."""
    cache = SchemaCache(asking(fake).writer_schema, RegistryUnavailable)
    cache.expect({str(NUMBER): WriterSchema(NUMBER, '"string"').fingerprint})
    del fake.schemas[NUMBER]
    waiting = asyncio.create_task(cache.having([NUMBER]))
    async with asyncio.timeout(60):
        while not (cache.awaited and cache.awaited[0].why):
            await asyncio.sleep(0.005)
        fake.schemas[NUMBER] = ' "string" '
        assert (await waiting)[NUMBER] is not None


async def test_a_schema_is_asked_for_once_whatever_stands_under_its_id_later(fake: FakeRegistry) -> None:
    cache = SchemaCache(asking(fake).writer_schema, RegistryUnavailable)
    first = await cache.having([NUMBER])
    fake.schemas[NUMBER] = '"bytes"'
    assert await cache.having([NUMBER, KNOWN]) == {**first, **await cache.having([KNOWN])}
