"""What tests of clients share."""

from __future__ import annotations

import pytest

from app.engine.drive.transactions import writer


@pytest.fixture(params=["an epoch for each", "one epoch"])
def protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The broker has both."""
    if request.param == "one epoch":
        monkeypatch.setattr(writer, "end_with_epochs", _as_aiokafka_does)
    return str(request.param)


async def _as_aiokafka_does(_: object) -> bool:
    return False
