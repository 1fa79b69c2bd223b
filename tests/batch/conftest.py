"""Fixtures of this level: Spark, and the broker and registry that other levels use, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.base.settings import Settings
from tests.support.machine.fixtures import services
from tests.support.machine.spark import spark
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.world import World, new_world
from tests.support.material.stored.written import write_random_rides
from tests.support.reconciled import SEED

__all__ = ["services", "small_world", "spark"]


@pytest.fixture
def small_world(services: Settings) -> Iterator[World]:
    """A few rides written and folded; nothing stored yet."""
    with new_world(services, topics=1) as made:
        write_random_rides(made, SEED, 10)
        fold_tasks(made)
        yield made
