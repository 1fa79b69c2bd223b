"""Fixtures of the levels that need a broker and a registry: one of each for a whole run, whatever the levels in it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.base.settings import Settings
from tests.support.machine.services import running_services
from tests.support.machine.world import own_world, put_back

_SHARED = pytest.StashKey[Settings]()
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def services(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A real broker and a real registry, gone with the test process.

    A session fixture that two conftest files import is made twice; so it is kept with the run itself.
    """
    config = request.config
    if _SHARED not in config.stash:
        stack = contextlib.ExitStack()
        config.stash[_SHARED] = stack.enter_context(running_services(_folder(tmp_path_factory)))
        config.add_cleanup(stack.close)
    return config.stash[_SHARED]


@pytest.fixture
def settings(services: Settings) -> Settings:
    """The shared services, for an application that no other test has."""
    return services.model_copy(update={"app_id": f"test-{next(_numbers)}"})


@pytest.fixture
def world(settings: Settings) -> Iterator[Settings]:
    """The same with empty ride topics, the application's own topics, and schemas."""
    with lent_world(settings):
        yield settings


@contextlib.contextmanager
def lent_world(settings: Settings) -> Iterator[None]:
    """A world that leaves shared topics as it found them, for tests that share nothing else with it."""
    own_world(settings)
    yield
    put_back(settings)


def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("services")
