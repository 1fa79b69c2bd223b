"""A world whose application takes records."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.base.setting_groups import HttpSettings
from app.base.settings import Settings
from app.edge.intake.intake import Intake
from app.rides.ride import RIDES
from tests.support.http import Client, Serve, one_task, server_of
from tests.support.machine.fixtures import lent_world


@pytest.fixture
def taking(settings: Settings) -> Iterator[Settings]:
    taking = settings.model_copy(update={"http": HttpSettings(intake=True)})
    with lent_world(taking):
        yield taking


@pytest.fixture
async def serve(taking: Settings, tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(
        tmp_path, limits=taking.http, intakes=lambda: Intake(taking, [RIDES], ["amounts.high"])
    ) as serve:
        yield serve


@pytest.fixture
async def client(serve: Serve) -> Client:
    return await serve(one_task())
