"""Which decoded records can be used, and the watermark they run up: compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.avro.column_arrays import Present
from app.codecs.avro.walk import SOUND
from app.codecs.compiled import compiled

USABLE, UNDECODED, OUT_OF_BOUNDS, NO_TIMESTAMP, SKEWED, UNCLEAN = range(6)
"""Verdicts on a record: the first that applies, from the second on."""


@compiled("void(int32[::1], int64[::1], boolean[::1], int64[::1], boolean[::1], int64, int64, int8[::1], int64[::1])")
def write_verdicts(
    fates: npt.NDArray[np.int32],
    reported_at_us: Int64s,
    present: Present,
    timestamps_ms: Int64s,
    unclean: Present,
    skew_us: int,
    watermark_us: int,
    verdicts: npt.NDArray[np.int8],
    watermarks_us: Int64s,
) -> None:
    """Writes each record's verdict, and the watermark behind it, which begins with `watermark_us`.

    `fates` are the decoder's, `present` says which records have been reported at all, `unclean` of which a rule holds
    that refuses them.
    """
    for i in range(len(fates)):
        verdict = USABLE
        if fates[i] != SOUND:
            verdict = UNDECODED if fates[i] < 0 else OUT_OF_BOUNDS
        elif timestamps_ms[i] < 0:
            verdict = NO_TIMESTAMP
        elif present[i]:
            # reported_at > timestamp * 1000 + skew, without a product that may overflow
            if reported_at_us[i] > skew_us and (reported_at_us[i] - skew_us - 1) // 1000 >= timestamps_ms[i]:
                verdict = SKEWED
            elif unclean[i]:
                verdict = UNCLEAN
            else:
                watermark_us = max(watermark_us, reported_at_us[i])
        verdicts[i] = verdict
        watermarks_us[i] = watermark_us
