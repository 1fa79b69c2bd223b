"""Generated rides as callers send them."""

from __future__ import annotations

from typing import Any

from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.ride import RIDE_COLUMNS

CLEAN = Dirt(late=0, stray_years=0, duplicates=0)


def rides_in_json(first: int, count: int, *, service: str = "yellow") -> list[dict[str, Any]]:
    """So many usable ones of a service; the same for the same numbers."""
    rides = Generator(seed=7, dirt=CLEAN, rides_per_day=20_000).rides(first, 4 * count + 40)
    found = rides.filter(service=service).select(column.name for column in RIDE_COLUMNS).head(count).to_dicts()
    assert len(found) == count
    return found
