"""Record batches byte by byte, as clients may send them that are not Kafka's own; what brokers take, and Java reads."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Mapping
from typing import NamedTuple

import cramjam
from aiokafka.record.util import calc_crc32c

from app.codecs.batches.inflating import GZIP, LZ4, NONE, SNAPPY, ZSTD

AT_MS = 1_262_304_000_000


def number(value: int) -> bytes:
    """As Kafka writes it: zig-zag, seven bits a byte."""
    left, written = value << 1 ^ value >> 63, bytearray()
    while left >= 0x80:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*written, left])


def in_five_bytes(value: int, more: int = 0) -> bytes:
    """The same with bits above the 32nd, which Java drops."""
    left = value << 1 ^ value >> 31
    return bytes([*(left >> shift & 0x7F | 0x80 for shift in (0, 7, 14, 21)), left >> 28 & 0x0F | more])


def record(
    offset_delta: bytes = number(0),
    key: bytes = number(1) + b"k",
    value: bytes = number(1) + b"v",
    headers: bytes = number(0),
) -> bytes:
    """One record out of encoded parts."""
    held = b"\0\0" + offset_delta + key + value + headers
    return number(len(held)) + held


class RawBatch(NamedTuple):
    """What aiokafka's producer asks of a `BatchBuilder` (`send_batch`): records, compressed in a way or not.

    `reads`: offsets behind the first and values, as Kafka's Java client gives them (3.9.0 and brokers of 4.3.1); None
    of what it cannot read.
    """

    way: int
    records: bytes
    count: int = 1
    reads: Mapping[int, bytes | None] | None = None

    def record_count(self) -> int:
        return self.count

    def size(self) -> int:
        return 61 + len(self.records)

    def closed(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing can be added anyway."""

    def _set_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """It stays nobody's."""

    def _build(self) -> bytearray:
        return bytearray(self.at(0))

    def at(self, base_offset: int) -> bytes:
        """As a broker hands it out."""
        checked = struct.pack(">hiqqqhii", self.way, self.count - 1, AT_MS, AT_MS, -1, -1, -1, self.count)
        checked += self.records
        return struct.pack(">qiibI", base_offset, 9 + len(checked), -1, 2, calc_crc32c(checked)) + checked


def of_deltas(*deltas: int) -> bytes:
    """Records that say they stand so far behind their batch's first, with their own number as value."""
    parts = ((number(delta), number(1) + b"%d" % at) for at, delta in enumerate(deltas))
    return b"".join(record(delta, value=value) for delta, value in parts)


def _lz4(data: bytes, *, checked: bool = False) -> bytes:
    compressor = cramjam.lz4.Compressor(content_checksum=checked, block_linked=False)
    compressor.compress(data)
    return bytes(compressor.finish())


def _xerial(*chunks: bytes, version: int = 1) -> bytes:
    compressed = [bytes(cramjam.snappy.compress_raw(chunk)) for chunk in chunks]
    head = b"\x82SNAPPY\0" + struct.pack(">ii", version, 1)
    return head + b"".join(struct.pack(">i", len(chunk)) + chunk for chunk in compressed)


_ONE = record()
_HALVES = _ONE[:5], _ONE[5:]
_ZSTD = bytes(cramjam.zstd.compress(_ONE))
_NULL = record(value=number(-2))
_LONG = "a text that takes more than one step of any way: " * 4_000
_LARGE = record(value=number(len(_LONG)) + _LONG.encode())
_READ: Mapping[int, bytes | None] = {0: b"v"}
GOOD: Mapping[int, RawBatch] = {
    NONE: RawBatch(NONE, _ONE, reads=_READ),
    GZIP: RawBatch(GZIP, gzip.compress(_ONE), reads=_READ),
    SNAPPY: RawBatch(SNAPPY, _xerial(_ONE), reads=_READ),
    LZ4: RawBatch(LZ4, _lz4(_ONE), reads=_READ),
    ZSTD: RawBatch(ZSTD, _ZSTD, reads=_READ),
}
"""One of each way."""
ODD: Mapping[str, RawBatch] = {
    "three at one offset": RawBatch(NONE, of_deltas(0, 0, 0), 3, {0: b"0"}),
    "falling offsets": RawBatch(NONE, of_deltas(2, 1, 0), 3, {2: b"0"}),
    "an offset before the batch": RawBatch(NONE, of_deltas(-3, 1), 2, {1: b"1"}),
    "bits above the 32nd": RawBatch(NONE, record(value=in_five_bytes(1, 0x70) + b"v"), reads=_READ),
    "a value's length of -2": RawBatch(NONE, _NULL, reads={0: None}),
    "a header's length of -3": RawBatch(NONE, record(headers=number(1) + number(0) + number(-3)), reads=_READ),
    "gzip and something behind": RawBatch(GZIP, gzip.compress(_ONE) + b"garbage", reads=_READ),
    "gzip and more behind": RawBatch(GZIP, gzip.compress(_ONE) + b"garbage" * 9, reads=_READ),
    "gzip and zeros": RawBatch(GZIP, gzip.compress(_ONE) + bytes(40), reads=_READ),
    "gzip in two, and something behind": RawBatch(
        GZIP, gzip.compress(_HALVES[0]) + gzip.compress(_HALVES[1]) + b"garbage", reads=_READ
    ),
    "lz4 and something behind": RawBatch(LZ4, _lz4(_ONE) + b"garbage" * 9, reads=_READ),
    "lz4 and the same again": RawBatch(LZ4, _lz4(_ONE) * 2, reads=_READ),
    "lz4 with another checksum": RawBatch(LZ4, _lz4(_ONE, checked=True)[:-4] + b"oops", reads=_READ),
    "lz4 in blocks, and something behind": RawBatch(LZ4, _lz4(_LARGE) + b"garbage", reads={0: _LONG.encode()}),
    "snappy of version 9": RawBatch(SNAPPY, _xerial(_ONE, version=9), reads=_READ),
    "snappy in chunks of version 9": RawBatch(
        SNAPPY, _xerial(_LARGE[:9], _LARGE[9:], version=9), reads={0: _LONG.encode()}
    ),
    "snappy in two streams": RawBatch(SNAPPY, _xerial(_HALVES[0]) + _xerial(_HALVES[1], version=7), reads=_READ),
    "snappy and an empty stream": RawBatch(SNAPPY, _xerial(_ONE) + _xerial(), reads=_READ),
    "snappy and three bytes": RawBatch(SNAPPY, _xerial(_ONE) + b"abc", reads=_READ),
    "zstd and a frame cut off": RawBatch(ZSTD, _ZSTD + _ZSTD[:9], reads=_READ),
    "zstd and a byte of a frame": RawBatch(ZSTD, _ZSTD + _ZSTD[:1], reads=_READ),
    "zstd and a skipped frame cut off": RawBatch(ZSTD, _ZSTD + b"\x57\x2a\x4d\x18\xff\xff\0\0abc", reads=_READ),
    "a record that is shorter than it says": RawBatch(
        GZIP, gzip.compress(_ONE + number(len(_ONE) + 4) + of_deltas(1, 2)[1:]), 3
    ),
    "a record behind its batch": RawBatch(NONE, of_deltas(0, 5), 2),
}
"""Those that brokers take, though no client of Kafka's writes them."""
BROKEN: Mapping[str, RawBatch] = {
    "another record than is told of": RawBatch(NONE, _ONE * 2),
    "gzip cut off": RawBatch(GZIP, gzip.compress(_ONE)[:-4]),
    "gzip with another checksum": RawBatch(GZIP, gzip.compress(_ONE)[:-8] + b"oops" * 2),
    "no gzip": RawBatch(GZIP, b"no gzip"),
    "lz4 without its end": RawBatch(LZ4, _lz4(_ONE)[:-4]),
    "lz4 cut off in a block": RawBatch(LZ4, _lz4(_ONE)[:-6]),
    "no lz4": RawBatch(LZ4, b"no lz4 at all"),
    "snappy and garbage": RawBatch(SNAPPY, _xerial(_ONE) + b"garbage"),
    "snappy and a header cut off": RawBatch(SNAPPY, _xerial(_ONE) + _xerial()[:9]),
    "snappy that says it is huge": RawBatch(SNAPPY, b"\xff\xff\xff\xff\x0f" + b"abc"),
    "no snappy": RawBatch(SNAPPY, b"\xff"),
    "zstd and garbage": RawBatch(ZSTD, _ZSTD + b"garbage"),
    "no zstd": RawBatch(ZSTD, b"no zstd"),
    "nothing": RawBatch(GZIP, b""),
}
"""Those that brokers refuse, and that a disk may make."""
