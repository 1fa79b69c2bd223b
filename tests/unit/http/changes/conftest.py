"""A server whose streams are few, and say at once that nothing is new."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.base.setting_groups import HttpSettings
from tests.support.http import Serve, server_of


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, limits=HttpSettings(heartbeat_seconds=0.2, max_streams=2)) as start:
        yield start
