"""Brokers that let nobody do anything but what was granted, for the tests of this folder that need no others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.base.kafka.topic_admin import create_topics
from app.definitions.registered import register_schemas
from app.rides.ride import RIDES
from app.topics import topics
from tests.support.clusters.brokers import running_brokers
from tests.support.clusters.doors import GuardedDoor
from tests.support.clusters.users import AUTHORIZER, Users


@pytest.fixture(scope="package")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Users]:
    """Of three brokers with all topics; nobody but the first user has come in. Their logs say who was let do what."""
    folder = tmp_path_factory.mktemp("guarded")
    door = GuardedDoor(folder / "door")
    with running_brokers(folder, 3, door, {AUTHORIZER: "DEBUG"}) as brokers:
        create_topics(brokers.settings.kafka, topics(brokers.settings))
        register_schemas(brokers.settings, (RIDES,))
        yield Users(brokers, door)
