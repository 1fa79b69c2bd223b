"""Fixtures of this level: Spark, and one broker and registry for all reconciliations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.base.settings import Settings
from tests.support.machine.services import running_services
from tests.support.machine.spark import spark
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.world import World, new_world
from tests.support.material.stored.written import write_random_rides
from tests.support.reconciled import SEED

__all__ = ["services", "small_world", "spark"]


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with running_services(tmp_path_factory.mktemp("services")) as settings:
        yield settings


@pytest.fixture
def small_world(services: Settings) -> Iterator[World]:
    """A few rides written and folded; nothing stored yet."""
    with new_world(services, topics=1) as made:
        write_random_rides(made, SEED, 10)
        fold_tasks(made)
        yield made
