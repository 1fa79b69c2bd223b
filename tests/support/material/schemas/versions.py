"""The ride's schema as it would have grown: TLC has added one amount after another since 2009."""

from __future__ import annotations

from typing import Any

from tests.support.material.schemas.ride import without

ADDED = (
    frozenset({"congestion_surcharge_cents"}),  # 2019
    frozenset({"airport_fee_cents"}),  # 2021
    frozenset({"cbd_congestion_fee_cents"}),  # 2025
)
"""Columns that are new in version 2, 3 and 4."""

RIDE_VERSIONS: tuple[dict[str, Any], ...] = tuple(
    without(*frozenset().union(*ADDED[version:])) for version in range(len(ADDED) + 1)
)
"""Version 1 to 4, each with its parts of our schema; the last is ours."""
