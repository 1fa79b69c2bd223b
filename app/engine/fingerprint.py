"""`app.domain.fingerprint.mix` over arrays: the same bits, 64 at a time."""

from __future__ import annotations

import numpy as np

from app.codecs.changelog import Int64s
from app.domain.fingerprint import FOLD_SHIFT, LOW_32, OFFSET_BITS, PARTITION_BITS, ROUNDS


def origins(topic_number: int, partition: int, offsets: Int64s) -> Int64s:
    """Packed origins of offsets of one topic-partition."""
    return offsets | np.int64((topic_number << (PARTITION_BITS + OFFSET_BITS)) | (partition << OFFSET_BITS))


def mix(packed: Int64s) -> Int64s:
    """Mixed origins."""
    low, shift = np.uint64(LOW_32), np.uint64(FOLD_SHIFT)
    bits = packed.view(np.uint64)
    left, right = bits >> np.uint64(32), bits & low
    for xor, multiplier in ROUNDS:
        product = (right ^ np.uint64(xor)) * np.uint64(multiplier)
        left, right = right, left ^ ((product ^ (product >> shift)) & low)
    return ((left << np.uint64(32)) | right).view(np.int64)
