"""Changelog records as the batches in which a take-over reads them."""

from __future__ import annotations

import random

import numpy as np

from app.engine.core.batch import Batch
from tests.support.material.histories import random_splits

CHANGELOG = "flagfall-rides-changelog"


def as_batches(written: list[tuple[bytes, bytes | None]], rng: random.Random) -> list[Batch]:
    """Changelog records as fetches give them, cut at random."""
    return [
        Batch(
            topic=CHANGELOG,
            partition=0,
            base_offset=base,
            next_offset=until,
            offsets=np.arange(base, until),
            timestamps_ms=np.zeros(until - base, np.int64),
            keys=[key for key, _ in written[base:until]],
            values=[value for _, value in written[base:until]],
            headers=[()] * (until - base),
        )
        for base, until in random_splits(rng, len(written))
    ]
