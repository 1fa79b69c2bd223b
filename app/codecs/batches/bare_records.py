"""Records of a batch with nothing in them: what is left of those whose content is gone."""

from __future__ import annotations


def without_content(count: int) -> bytes:
    """So many records as a batch holds them: one behind the other, at the batch's first time, with nothing in them."""
    return b"".join(_without_content(delta) for delta in range(count))


def _without_content(offset_delta: int) -> bytes:
    left, delta = 2 * offset_delta, bytearray()
    while left >= 0x80:
        delta.append(left & 0x7F | 0x80)
        left >>= 7
    held = (
        b"\0\0" + bytes([*delta, left]) + b"\x01\x01\0"
    )  # no attributes, time delta 0; null key, null value, no headers
    return bytes([2 * len(held)]) + held
