"""A simulated cluster of one partition a topic."""

from __future__ import annotations

import pytest

from app.testkit.cluster.broker import Broker


@pytest.fixture
def broker() -> Broker:
    return Broker(partitions=1)
