"""How large compressed record batches may be once they are not: a few bytes of what is compressed can be gigabytes.

What surely is small enough is uncompressed without ado; the rest into a buffer that ends.
"""

from __future__ import annotations

import cramjam
import numpy as np

from app.codecs.arrays import Bytes, Int64s
from app.codecs.compiled import compiled

MAX_BYTES = 128 << 20
"""A record batch that is larger uncompressed is not read; its records are refused."""
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
"""Kafka's numbers of the ways."""
_MOST_TIMES = np.array([1, 1032, 22, 255], np.int64)
"""How many bytes one byte can become; of zstd it is counted."""
INTO = {GZIP: cramjam.gzip, LZ4: cramjam.lz4, ZSTD: cramjam.zstd}
"""Those that can be uncompressed into a buffer; snappy tells first how much it will be."""
_FULL = "failed to write whole buffer"


def most_bytes(data: Bytes, starts: Int64s, ends: Int64s, codecs: Int64s) -> Int64s:
    """No fewer than each of the strings `data[start:end]` becomes. ValueError for a way that is not known."""
    if (codecs > ZSTD).any():
        raise ValueError(f"record batches compressed in way {int(codecs.max())}, which is not known")
    of_zstd = codecs == ZSTD
    most: Int64s = (ends - starts) * _MOST_TIMES[np.where(of_zstd, NONE, codecs)]
    if of_zstd.any():
        most[of_zstd] = _most_of_zstd(data, starts[of_zstd], ends[of_zstd])
    return most


def inflated(compressed: bytes, way: int) -> bytes | None:
    """The string itself; None if it is of more than MAX_BYTES. DecompressionError if it is not compressed so."""
    buffer = bytearray(MAX_BYTES)  # pages that nothing is written to take no memory
    try:
        size = INTO[way].decompress_into(compressed, buffer)
    except cramjam.DecompressionError as error:
        if _FULL in str(error):
            return None
        raise
    return bytes(memoryview(buffer)[:size])


_READABLE = "Array(uint8, 1, 'C', True)"


@compiled(f"int64[::1]({_READABLE}, int64[::1], int64[::1])")
def _most_of_zstd(data: Bytes, starts: Int64s, ends: Int64s) -> Int64s:
    """Counted from the headers of blocks (RFC 8878), of which none becomes more than 128 KiB; up to where they end to
    be such: a decoder gets no further."""
    most = np.zeros(len(starts), np.int64)
    for i in range(len(starts)):
        at, end = starts[i], ends[i]
        while at + 8 <= end:
            magic = np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16
            magic |= np.int64(data[at + 3]) << 24
            if magic & 0xFFFFFFF0 == 0x184D2A50:  # a frame to be skipped
                skipped = np.int64(data[at + 4]) | np.int64(data[at + 5]) << 8 | np.int64(data[at + 6]) << 16
                at += 8 + (skipped | np.int64(data[at + 7]) << 24)
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
                most[i] += 1 << 17 if kind >= 2 else size
                at += 3 + (1 if kind == 1 else size)
            at += 4 * (told >> 2 & 1)
    return most
