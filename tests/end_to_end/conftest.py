"""One broker and one registry for all tests of this level; each test makes its topics anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.base.settings import Settings
from tests.support.services import running_services


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with running_services(tmp_path_factory.mktemp("services")) as settings:
        yield settings
