"""How JSON writes letters in a text: as they are, or by two or six letters, the first of them a backslash."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import orjson

QUOTE, BACKSLASH = ord('"'), ord("\\")
MOST_DIGITS = 20
"""Of a number, its sign included."""

SHORT = np.zeros(128, np.uint8)
SHORT[[8, 9, 10, 12, 13, QUOTE, BACKSLASH]] = np.frombuffer(b'btnfr"\\', np.uint8)
"""What stands behind the backslash for a letter; 0: it stands for itself, or as six letters if it is below a blank."""
LETTER = np.zeros(128, np.uint8)
LETTER[SHORT[SHORT > 0]] = np.flatnonzero(SHORT)
"""The opposite."""


def heads(names: Sequence[str]) -> list[bytes]:
    """What stands before each value of an object."""
    return [(b"," if at else b"{") + orjson.dumps(name) + b":" for at, name in enumerate(names)]
