"""A runner that is started."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.engine.drive.kafka import schemas as schemas_module
from tests.support.tasks.runner_world import World


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A world whose runner is started; registries are asked again at once."""
    monkeypatch.setattr(schemas_module, "FIRST_WAIT_SECONDS", 0)
    world = World()
    world.runner.start()
    yield world
    await world.runner.stop(grace_seconds=0)
