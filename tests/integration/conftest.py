"""One broker and one registry for all integration tests, an application id of its own for each; the edge on servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.http import Serve, server_of
from tests.support.machine.fixtures import services, settings, world

__all__ = ["services", "settings", "world"]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start
