"""A calendar's windows as runs of equally long ones: some hundreds in a century, where hours are a million."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from app.domain.windows.boundaries import Boundaries

BUCKET_US = 32 * 86_400_000_000
"""Runs meet instants by such buckets: rarely more than three of them have a part in one."""


def runs_of(boundaries: Boundaries) -> pa.Table:
    """Each run once for every bucket that it has a part in. Every window of the table is in a run.

    `run_start_us`, `run_end_us` (exclusive), `run_length_us` of one window, `run_bucket`: where the bucket begins.
    """
    instants = np.frombuffer(boundaries.instants, np.int64)
    lengths = np.diff(instants)
    begins = np.flatnonzero(np.diff(lengths, prepend=0))
    starts, ends = instants[begins], instants[np.append(begins[1:], len(lengths))]
    first, last = starts // BUCKET_US, (ends - 1) // BUCKET_US
    of = np.repeat(np.arange(len(starts)), last - first + 1)
    nth = np.arange(len(of)) - np.searchsorted(of, of)
    columns = {"run_start_us": starts, "run_end_us": ends, "run_length_us": lengths[begins]}
    in_buckets = {name: column[of] for name, column in columns.items()}
    return pa.table(in_buckets | {"run_bucket": (first[of] + nth) * BUCKET_US})
