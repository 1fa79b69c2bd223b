"""The example of the docs, changed in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.base.settings import Settings
from app.definitions.read import read_definitions
from app.domain.catalogue import Catalogue
from app.rides.shipped import SHIPPED, everything
from tests.support.material.example import EXAMPLE, Read


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads the example with one text replaced by another, or with lines added."""

    def read_changed(old: str = "", new: str = "", added: str = "") -> Catalogue:
        text = EXAMPLE.read_text("utf-8")
        assert old in text
        file = tmp_path / "definitions.toml"
        file.write_text((text.replace(old, new) if old else text) + added, "utf-8")
        return read_definitions(file, SHIPPED, everything(Settings()))

    return read_changed
