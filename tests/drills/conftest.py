"""One broker and one registry for all short drills: of their own, as drills kill them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clusters.brokers import Brokers, running_brokers


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Shared by all drills but those that want more than one."""
    with running_brokers(tmp_path_factory.mktemp("drills")) as running:
        yield running
