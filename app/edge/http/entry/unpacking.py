"""What a request brings, as it was before it was compressed: piece by piece, never more of it than is asked for."""

from __future__ import annotations

import zlib
from typing import Final

GZIP, DEFLATE = "gzip", "deflate"
TAKEN: Final = (GZIP, DEFLATE)
"""What `Content-Encoding` may say."""
_NAMES: Final = {"": None, "identity": None, GZIP: GZIP, "x-gzip": GZIP, DEFLATE: DEFLATE}


class CannotUnpack(Exception):
    """It is not what its encoding says, or not taken at all; the message has why."""


def encoding_of(told: str) -> str | None:
    """Of a header's text; None where nothing is compressed. CannotUnpack where it is not taken."""
    name = told.strip().lower()
    if name not in _NAMES:
        raise CannotUnpack(f"it is compressed as {told!r}; taken are {', '.join(TAKEN)}, and what is not compressed")
    return _NAMES[name]


class Unpacking:
    """Of one body. CannotUnpack is raised by what cannot be read."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._stream: zlib._Decompress | None = None

    def read(self, part: bytes, most_bytes: int) -> bytes:
        """What follows, so much at most: the rest is dropped."""
        found = bytearray()
        while part and len(found) < most_bytes:
            if self._stream is None or self._stream.eof:  # files of gzip may follow one another
                self._stream = zlib.decompressobj(self._wrapped(part))
            try:
                found += self._stream.decompress(part, most_bytes - len(found))
            except zlib.error:
                raise CannotUnpack(f"it is no {self._encoding}") from None
            part = self._stream.unused_data
        return bytes(found)

    def end(self) -> None:
        """Nothing follows."""
        if self._stream is None or not self._stream.eof:
            raise CannotUnpack(f"its {self._encoding} ends before it is whole")

    def _wrapped(self, part: bytes) -> int:
        """How zlib knows what begins so: some send deflate without the two bytes that should stand before it."""
        if self._encoding == GZIP:
            return zlib.MAX_WBITS | 16
        return zlib.MAX_WBITS if part[0] & 0xF == zlib.DEFLATED else -zlib.MAX_WBITS
