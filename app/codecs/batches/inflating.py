"""How large compressed record batches may be once they are not: a few bytes of what is compressed can be gigabytes.

What surely is small enough is uncompressed without ado; the rest in steps, or into a buffer that ends.
"""

from __future__ import annotations

import cramjam
import numpy as np

from app.codecs.arrays import Bytes, Int64s
from app.codecs.compiled import READABLE, compiled

MAX_BYTES = 128 << 20
"""A record batch that is larger uncompressed is not read; its records are refused."""
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
"""Kafka's numbers of the ways."""
_MOST_TIMES = np.array([1, 1032, 22, 255], np.int64)
"""How many bytes one byte can become; of zstd it is counted."""
_FRAME, _SKIPPED = b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18"
"""How frames of zstd begin; those that are to be skipped in one of sixteen ways."""
_FULL = "failed to write whole buffer"


def most_bytes(data: Bytes, starts: Int64s, ends: Int64s, codecs: Int64s) -> Int64s:
    """No fewer than each of the strings `data[start:end]` becomes. ValueError for a way that is not known.

    Of one that zstd made and that ends within a frame, more than are read: with others behind it, it would go on there.
    """
    if (codecs > ZSTD).any():
        raise ValueError(f"record batches compressed in way {int(codecs.max())}, which is not known")
    of_zstd = codecs == ZSTD
    most: Int64s = (ends - starts) * _MOST_TIMES[np.where(of_zstd, NONE, codecs)]
    if of_zstd.any():
        starts, ends = starts[of_zstd], ends[of_zstd]
        found = _zstd_frames(data, starts, ends)
        most[of_zstd] = np.where(found[:, 1] == ends, found[:, 0], MAX_BYTES + 1)
    return most


def inflated(compressed: bytes) -> bytes | None:
    """What zstd made smaller; None if it is of more than MAX_BYTES. DecompressionError if it is not compressed so."""
    buffer = bytearray(MAX_BYTES)  # pages that nothing is written to take no memory
    try:
        size = cramjam.zstd.decompress_into(compressed, buffer)
    except cramjam.DecompressionError as error:
        if _FULL in str(error):
            return None
        raise
    return bytes(memoryview(buffer)[:size])


def whole_frames(compressed: bytes) -> bytes:
    """Without a last frame of zstd that is cut off. ValueError where something else is behind them."""
    data = np.frombuffer(compressed, np.uint8)
    end = int(_zstd_frames(data, np.array([0]), np.array([len(data)]))[0, 1])
    rest = compressed[end : end + 4]
    if not _FRAME.startswith(rest) and not (rest[0] & 0xF0 == _SKIPPED[0] and _SKIPPED[1:].startswith(rest[1:])):
        raise ValueError("no frame of zstd")
    return compressed[:end]


@compiled(f"int64[:,::1]({READABLE}, int64[::1], int64[::1])")
def _zstd_frames(data: Bytes, starts: Int64s, ends: Int64s) -> Int64s:
    """How many bytes each string becomes at most, and where its last whole frame ends.

    Counted from the headers of blocks (RFC 8878), of which none becomes more than 128 KiB; up to where they end to
    be such: a decoder gets no further.
    """
    found = np.zeros((len(starts), 2), np.int64)
    found[:, 1] = starts
    for i in range(len(starts)):
        at, end = starts[i], ends[i]
        while at + 8 <= end:
            magic = np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16
            magic |= np.int64(data[at + 3]) << 24
            if magic & 0xFFFFFFF0 == 0x184D2A50:  # a frame to be skipped
                skipped = np.int64(data[at + 4]) | np.int64(data[at + 5]) << 8 | np.int64(data[at + 6]) << 16
                at += 8 + (skipped | np.int64(data[at + 7]) << 24)
                found[i, 1] = at if at <= end else found[i, 1]
                continue
            if magic != 0xFD2FB528:
                break
            told = np.int64(data[at + 4])
            single, size_flag, id_flag = told >> 5 & 1, told >> 6, told & 3
            at += 5 + (1 - single) + (4 if id_flag == 3 else id_flag)
            at += single if size_flag == 0 else 1 << size_flag
            last = False
            while not last and at + 3 <= end:
                header = np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16
                last, kind, size = header & 1 == 1, header >> 1 & 3, header >> 3
                found[i, 0] += 1 << 17 if kind >= 2 else size
                at += 3 + (1 if kind == 1 else size)
            at += 4 * (told >> 2 & 1)
            found[i, 1] = at if last and at <= end else found[i, 1]
    return found
