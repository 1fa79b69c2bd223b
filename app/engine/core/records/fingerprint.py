"""`app.domain.fingerprint.mix` over arrays: the same bits."""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.compiled import compiled
from app.domain.fingerprint import FOLD_SHIFT, LOW_32, OFFSET_BITS, PARTITION_BITS, ROUNDS

_U = np.uint64
_LOW_32, _SHIFT = _U(LOW_32), _U(FOLD_SHIFT)


def origins(topic_number: int, partition: int, offsets: Int64s) -> Int64s:
    """Packed origins of offsets of one topic-partition."""
    return offsets | np.int64((topic_number << (PARTITION_BITS + OFFSET_BITS)) | (partition << OFFSET_BITS))


@compiled("int64[::1](int64[::1])")
def mix_all(packed: Int64s) -> Int64s:
    """Mixed origins."""
    mixed = np.empty_like(packed)
    for i in range(len(packed)):
        bits = _U(packed[i])
        left, right = bits >> _U(32), bits & _LOW_32
        for xor, multiplier in ROUNDS:
            product = (right ^ _U(xor)) * _U(multiplier)
            left, right = right, left ^ ((product ^ (product >> _SHIFT)) & _LOW_32)
        mixed[i] = np.int64((left << _U(32)) | right)
    return mixed
