"""Which records of a batch a row was folded from: asked afterwards, of the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.domain.event_time import NO_WATERMARK
from app.domain.records import Value
from app.domain.rules.epochs import GraceEpoch
from app.domain.source import Kind
from app.domain.view import View
from app.domain.windows.durations import SECOND_US
from app.engine.core.cells.grouping import APPLIED
from app.engine.core.records.usable import Usable
from app.engine.core.views.placing import placed


class RowAsked(NamedTuple):
    """A row as answers show it: the ends of its window, None for all time, and the values of its groups."""

    start_us: int | None
    end_us: int | None
    group: tuple[Value, ...]


def seen_then(view: View, epochs: Sequence[GraceEpoch], usable: Usable, offsets: Int64s) -> Usable:
    """The records with the watermarks by which the view judged them, each in the epoch of its offset."""
    if not view.window.ends:
        return usable
    marks_us = usable.watermarks_us
    for epoch in epochs:
        grace_us, floor_us = epoch.grace_seconds * SECOND_US, epoch.floor_us
        closed_us = np.where(marks_us == NO_WATERMARK, floor_us, np.maximum(marks_us - grace_us, floor_us))
        seen_us = np.where(closed_us == NO_WATERMARK, NO_WATERMARK, closed_us + view.grace_us)
        usable = replace(usable, watermarks_us=np.where(offsets >= epoch.from_offset, seen_us, usable.watermarks_us))
    return usable


def belonging(view: View, asked: RowAsked, usable: Usable) -> Int64s:
    """Which of the records (`seen_then`) the view applied to the row, by their places among them."""
    windows, first_windows, fates = placed(view, usable)
    chosen = fates == APPLIED
    if asked.start_us is not None and asked.end_us is not None:
        chosen &= (windows >= asked.start_us) & (windows < asked.end_us)
    if first_windows is not None and asked.start_us is not None:
        chosen &= first_windows <= asked.start_us
    at = np.flatnonzero(chosen)
    for group, value in zip(view.groups, asked.group, strict=True):
        at = at[_equal(usable, group.column, value, at)]
    return at


def _equal(usable: Usable, column: str, value: Value, at: Int64s) -> npt.NDArray[np.bool_]:
    cells = usable.column(column)
    known: npt.NDArray[np.bool_] = cells.present[at]
    if value is None:
        return ~known
    if cells.kind is Kind.TEXT:
        utf8 = str(value).encode()
        return np.array([text == utf8 for text in usable.text_bytes(column, at)], np.bool_)
    equal: npt.NDArray[np.bool_] = cells.values[0][at] == int(value)
    return known & equal
