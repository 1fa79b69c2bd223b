"""Text from outside, as a terminal may be given it."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "\N{REPLACEMENT CHARACTER}"
_PICTURES: Final = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\N{SYMBOL FOR DELETE}"}
_TURNING: Final = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Line separators, and marks that turn the direction of what follows."""
_HARMFUL: Final = _PICTURES | dict.fromkeys((*range(0x80, 0xA0), *_TURNING, *range(0xD800, 0xE000)), UNKNOWN)
_BUT_LINES: Final = {code: shown for code, shown in _HARMFUL.items() if code != ord("\n")}


def printable(text: str, *, lines: bool = False) -> str:
    """The text with a visible sign for each character that would steer the terminal: escapes, bells, new lines.

    Whatever a stream or a file may hold thus stays where it is printed. With `lines` new lines are kept: for messages
    of ours that quote. What has no sign of its own, a lone surrogate too, becomes the replacement character.
    """
    return text.translate(_BUT_LINES if lines else _HARMFUL)
