"""A registry that gives trouble: ids that are known go on, unknown ones wait, and nothing is decided meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from app.base import registry
from app.base.errors import RegistryUnavailable
from app.base.registry import Registry
from app.base.settings import Settings
from app.codecs.record_schema import record_schema
from app.codecs.schema_admission import is_readable
from app.engine.drive import schemas
from app.engine.drive.schemas import SchemaCache
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


async def test_a_schema_that_is_larger_than_any_that_is_read_is_a_decision(fake: FakeRegistry) -> None:
    """It is the registry's word; waiting for another would hold the partition for ever."""
    fake.trouble = saying(200, '{"schema": "' + " " * 9_000_000 + '"}', MEDIA_TYPE)
    found = await asyncio.to_thread(asking(fake).writer_schema, NUMBER)
    assert found is not None
    assert not is_readable(found, RIDES.columns)
    with pytest.raises(RegistryUnavailable, match="more than 8000000 bytes"):
        await asyncio.to_thread(asking(fake).register, "rides.yellow-value", record_schema(RIDES))


async def test_a_schema_is_asked_for_once_whatever_stands_under_its_id_later(fake: FakeRegistry) -> None:
    cache = SchemaCache(asking(fake).writer_schema, RegistryUnavailable)
    first = await cache.having([NUMBER])
    fake.schemas[NUMBER] = '"bytes"'
    assert await cache.having([NUMBER, KNOWN]) == {**first, **await cache.having([KNOWN])}
