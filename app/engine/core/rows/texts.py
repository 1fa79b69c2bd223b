"""Texts as numbers: a table holds each text of a group once, and its code in the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s

UNKNOWN = -1
"""The code of a text that no row holds."""

Texts = Sequence[str | None] | npt.NDArray[np.object_]


class TextCodes:
    """Codes of the texts that rows hold, null among them. A text without a row is forgotten, its code used again."""

    def __init__(self) -> None:
        self._code_of: dict[str | None, int] = {}
        self._texts: npt.NDArray[np.object_] = np.empty(0, object)
        self._rows: Int64s = np.empty(0, np.int64)
        self._unused: list[int] = []

    def __len__(self) -> int:
        return len(self._code_of)

    def find(self, texts: Texts) -> Int64s:
        """The code of each text, UNKNOWN where there is none."""
        find = self._code_of.get
        return np.fromiter((find(text, UNKNOWN) for text in texts), np.int64, len(texts))

    def give(self, texts: Texts) -> Int64s:
        """The code of each text, given now where there was none. Rows that stay with one are then to be held."""
        codes = self.find(texts)
        for i in np.flatnonzero(codes == UNKNOWN).tolist():
            codes[i] = self._code(texts[i])
        return codes

    def hold(self, codes: Int64s) -> None:
        """Rows with these codes have come."""
        np.add.at(self._rows, codes, 1)

    def release(self, codes: Int64s) -> None:
        """Rows with these codes are gone."""
        np.subtract.at(self._rows, codes, 1)
        codes = np.unique(codes)
        for code in codes[self._rows[codes] == 0].tolist():
            del self._code_of[self._texts[code]]
            self._texts[code] = None
            self._unused.append(code)

    def texts(self, codes: Int64s) -> npt.NDArray[np.object_]:
        """The texts of known codes."""
        return self._texts[codes]

    def _code(self, text: Any) -> int:
        known = self._code_of.get(text)
        if known is not None:  # it came twice among the new ones
            return known
        if not self._unused:
            self._grow()
        code = self._code_of[text] = self._unused.pop()
        self._texts[code] = text
        return code

    def _grow(self) -> None:
        held, capacity = len(self._texts), 2 * len(self._texts) + 8
        texts, rows = np.empty(capacity, object), np.zeros(capacity, np.int64)
        texts[:held], rows[:held] = self._texts, self._rows
        self._texts, self._rows = texts, rows
        self._unused = list(range(capacity - 1, held - 1, -1))
