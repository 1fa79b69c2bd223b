"""Record batches uncompressed as Kafka's Java client does it, which takes more than the libraries here.

Slower than these: for what they refuse. What brokers take, Java has read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

import cramjam

from app.codecs.batches import inflating
from app.codecs.batches.inflating import GZIP, LZ4, NONE, SNAPPY, ZSTD

REFUSED = (ValueError, OSError, EOFError, zlib.error, struct.error, cramjam.DecompressionError)
"""What those who uncompress raise where something cannot be."""
_GZIP, _GZIP_LEAST = b"\x1f\x8b\x08", 19
"""How a member begins; Java looks for no other one in fewer bytes."""
_LZ4, _LZ4_STORED, _LZ4_CHECKED, _LZ4_SIZED = 0x184D2204, 1 << 31, 0x10, 0x08
_XERIAL, _XERIAL_HEADER = b"\x82SNAPPY\x00", 16
_XERIAL_AGAIN = _XERIAL[:4]


def uncompressed(compressed: bytes, way: int) -> bytes | None:
    """The string itself; None if it is of more than MAX_BYTES. Raises one of REFUSED."""
    if way == ZSTD:
        return _zstd(compressed)
    held, size = [], 0
    for piece in _PIECES[way](compressed):
        held.append(piece)
        size += len(piece)
        if size > inflating.MAX_BYTES:
            return None
    return b"".join(held)


def _zstd(data: bytes) -> bytes | None:
    """Whole frames, whatever the last one lacks."""
    try:
        return inflating.inflated(data)
    except cramjam.DecompressionError:
        return inflating.inflated(inflating.whole_frames(data))


def _as_it_is(data: bytes) -> Iterator[bytes]:
    yield data


def _gzip(data: bytes) -> Iterator[bytes]:
    """Whole members, up to what does not begin like one."""
    while True:
        member = zlib.decompressobj(wbits=31)
        yield member.decompress(data, inflating.MAX_BYTES + 1)
        if not member.eof:
            raise EOFError("the string ends within a member of gzip")
        data = member.unused_data
        if len(data) < _GZIP_LEAST or not data.startswith(_GZIP):
            return


def _lz4(data: bytes) -> Iterator[bytes]:
    """The first frame, whatever its checksum says and whatever follows."""
    magic, flags, size_code = struct.unpack_from("<IBB", data)
    if magic != _LZ4 or (size_code >> 4 & 7) < 4:
        raise ValueError("no frame of lz4")
    most, at = 1 << 8 + 2 * (size_code >> 4 & 7), 15 if flags & _LZ4_SIZED else 7
    buffer = bytearray(most)
    while True:
        (told,) = struct.unpack_from("<I", data, at)
        size = told & ~_LZ4_STORED
        begin, at = at + 4, at + 4 + size
        if not size:
            return
        if at > len(data) or size > most:
            raise ValueError("the string ends within a block of lz4")
        if told & _LZ4_STORED:
            yield data[begin:at]
        else:
            into = cramjam.lz4.decompress_block_into(data[begin:at], buffer, output_len=most)
            yield bytes(memoryview(buffer)[:into])
        at += 4 if flags & _LZ4_CHECKED else 0


def _snappy(data: bytes) -> Iterator[bytes]:
    """One string, or chunks in the way of xerial's library, in one stream of any version or in several."""
    if not data.startswith(_XERIAL):
        yield _chunk(data)
        return
    at = _XERIAL_HEADER
    while at + 4 <= len(data):
        if data[at : at + 4] == _XERIAL_AGAIN:
            at += _XERIAL_HEADER
            if at > len(data):
                raise ValueError("the string ends within a header of snappy")
            continue
        (size,) = struct.unpack_from(">i", data, at)
        begin, at = at + 4, at + 4 + size
        if size < 0 or at > len(data):
            raise ValueError("the string ends within a chunk of snappy")
        yield _chunk(data[begin:at])


def _chunk(data: bytes) -> bytes:
    if cramjam.snappy.decompress_raw_len(data) > 64 * len(data):
        raise ValueError("a chunk of snappy says that it becomes larger than it can")
    return bytes(cramjam.snappy.decompress_raw(data))


_PIECES: dict[int, Callable[[bytes], Iterator[bytes]]] = {
    NONE: _as_it_is,
    GZIP: _gzip,
    SNAPPY: _snappy,
    LZ4: _lz4,
}
