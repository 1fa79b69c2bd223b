"""Faults planted into the worker, the core or the broker: a simulation that finds none of one kind proves nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.mutants import durability, folding, releases, widening

Plant = Callable[[pytest.MonkeyPatch], None]


def plants() -> dict[str, Plant]:
    """Every fault, by what it does."""
    planting = {name: fault for room in (durability, folding, releases, widening) for name, fault in vars(room).items()}
    return {name.removeprefix("plant_"): fault for name, fault in planting.items() if name.startswith("plant_")}
