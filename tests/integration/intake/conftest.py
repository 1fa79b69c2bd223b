"""A world whose application takes records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.base.setting_groups import HttpSettings
from app.base.settings import Settings
from tests.support.machine.fixtures import lent_world


@pytest.fixture
def taking(settings: Settings) -> Iterator[Settings]:
    taking = settings.model_copy(update={"http": HttpSettings(intake=True)})
    with lent_world(taking):
        yield taking
