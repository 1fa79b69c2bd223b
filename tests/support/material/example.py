"""The definition file of the docs, and what reads it with a change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.domain.catalogue import Catalogue

EXAMPLE = Path(__file__).parents[3] / "docs" / "definitions.example.toml"
Read = Callable[..., Catalogue]
