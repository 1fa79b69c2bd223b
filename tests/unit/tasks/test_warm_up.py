"""What a worker does once before it joins its group."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from app.base.settings import Settings
from app.engine.core.definition import TaskDefinition
from app.engine.drive.warm_up import GARBAGE_AFTER, warm_up
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from tables import groups
from tests.support.material.views import ALL_VIEWS


@pytest.fixture(autouse=True)
def _own_collector() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@pytest.mark.parametrize(
    "definition",
    [groups.define(SHIPPED.group("rides"), Settings()), TaskDefinition("flagfall", (RIDES,), ALL_VIEWS)],
    ids=["shipped", "all views"],
)
def test_what_is_there_is_left_alone_by_later_collections(definition: TaskDefinition) -> None:
    kept = [object()]
    assert any(found is kept for found in gc.get_objects())
    warm_up([definition])
    assert gc.get_freeze_count() > 0
    assert not any(found is kept for found in gc.get_objects())
    assert gc.get_threshold()[0] == GARBAGE_AFTER
