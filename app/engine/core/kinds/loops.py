"""Which window each record of a batch is stored under, and what becomes of it: rule 7 of docs/rules.md, compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.compiled import compiled
from app.engine.core.cells.grouping import APPLIED, LATE, OUT_OF_SCOPE

FateCodes = npt.NDArray[np.int8]


@compiled("void(int64[::1], boolean[::1], int64[::1], int64, int64, int64, int64, int64[::1], int8[::1])")
def place(
    instants_us: Int64s,
    known: npt.NDArray[np.bool_],
    watermarks_us: Int64s,
    grain_us: int,
    offset_us: int,
    size_us: int,
    grace_us: int,
    windows_us: Int64s,
    fates: FateCodes,
) -> None:
    """Windows that start at multiples of `grain_us` behind the offset, and are `size_us` long."""
    for i in range(len(instants_us)):
        windows_us[i] = (instants_us[i] - offset_us) // grain_us * grain_us + offset_us
        if not known[i]:
            fates[i] = OUT_OF_SCOPE
        elif windows_us[i] + size_us + grace_us <= watermarks_us[i]:
            fates[i] = LATE
        else:
            fates[i] = APPLIED


@compiled(
    "void(int64[::1], boolean[::1], int64[::1], Array(int64, 1, 'C', readonly=True), int64, int64[::1], int8[::1])"
)
def place_between(
    instants_us: Int64s,
    known: npt.NDArray[np.bool_],
    watermarks_us: Int64s,
    boundaries_us: Int64s,
    grace_us: int,
    windows_us: Int64s,
    fates: FateCodes,
) -> None:
    """Windows from each boundary to the next; instants lie between the first and the last of them."""
    at, last = 0, len(boundaries_us) - 1
    for i in range(len(instants_us)):
        if not known[i]:
            fates[i] = OUT_OF_SCOPE
            continue
        if not boundaries_us[at] <= instants_us[i] < boundaries_us[at + 1]:  # mostly the window of the record before
            at = min(max(np.searchsorted(boundaries_us, instants_us[i], side="right") - 1, 0), last - 1)
        windows_us[i] = boundaries_us[at]
        fates[i] = LATE if boundaries_us[at + 1] + grace_us <= watermarks_us[i] else APPLIED


@compiled("void(int64[::1], boolean[::1], int64[::1], int64, int64, int64, int64, int64[::1], int64[::1], int8[::1])")
def place_overlapping(
    instants_us: Int64s,
    known: npt.NDArray[np.bool_],
    watermarks_us: Int64s,
    size_us: int,
    step_us: int,
    offset_us: int,
    grace_us: int,
    panes_us: Int64s,
    first_windows_us: Int64s,
    fates: FateCodes,
) -> None:
    """Panes of windows that start at multiples of `step_us` behind the offset, and the first open one they are in."""
    cut_us = size_us % step_us
    for i in range(len(instants_us)):
        if not known[i]:
            fates[i] = OUT_OF_SCOPE
            continue
        last_us = (instants_us[i] - offset_us) // step_us * step_us + offset_us
        panes_us[i] = last_us + cut_us if instants_us[i] >= last_us + cut_us else last_us
        of_it_us = (instants_us[i] - size_us - offset_us) // step_us * step_us
        still_open_us = (watermarks_us[i] - grace_us - size_us - offset_us) // step_us * step_us
        first_windows_us[i] = max(of_it_us, still_open_us) + step_us + offset_us
        fates[i] = LATE if last_us < first_windows_us[i] else APPLIED
