"""Chromium, and what it is shown: applications of hand-made tables, and workers on a broker."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright import async_api as playwright

from tests.support.http import Serve, server_of
from tests.support.machine.fixtures import services, settings, world

__all__ = ["browser", "serve", "services", "settings", "world"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start


@pytest.fixture
async def browser() -> AsyncIterator[playwright.Browser]:
    if CHROMIUM is None and "CI" not in os.environ:
        pytest.skip("no Chromium: install Debian's package `chromium`")
    assert CHROMIUM is not None, "CI needs a Chromium: .ci/run installs Debian's package `chromium`"
    async with playwright.async_playwright() as started:
        chromium = await started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        await chromium.close()
