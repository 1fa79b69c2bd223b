"""One broker and one registry for all integration tests; each test takes an application id of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from app.base.settings import Settings
from tests.support.services import running_services

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A real broker and a real registry, gone with the test process."""
    with running_services(tmp_path_factory.mktemp("services")) as settings:
        yield settings


@pytest.fixture
def settings(services: Settings) -> Settings:
    """The shared services, for an application that no other test has."""
    return services.model_copy(update={"app_id": f"test-{next(_numbers)}"})
