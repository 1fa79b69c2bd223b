"""Records of `windows.<view>` by column (docs/formats.md): byte for byte what orjson makes of each alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import orjson

from app.codecs.arrays import Int64s
from app.codecs.blobs import Blobs
from app.codecs.cells.to_json import hex_as_json, lists_of, numbers_as_json, objects_of, texts_as_json
from app.codecs.stored.changelog import NULL_INTEGER
from app.codecs.text_column import GroupColumn, TextColumn
from app.codecs.weaving import same
from app.domain.measures.contract import Shown
from app.domain.rows import COUNT_AT, FINGERPRINT_AT, last_of
from app.domain.view import View


class FinalRows(NamedTuple):
    """Rows of closed windows, as columns: of the view's own groups, and the revision that each is."""

    windows: Int64s
    groups: Sequence[GroupColumn]
    cells: Int64s
    revisions: Int64s


def final_records(view: View, rows: FinalRows, positions: dict[str, dict[str, int]]) -> tuple[Blobs, Blobs]:
    """Keys and values; `positions` are the offsets by task and topic that all of them cover."""
    count = len(rows.cells)
    groups = {group.name: _group(held) for group, held in zip(view.groups, rows.groups, strict=True)}
    key = {"window_start_us": _numbers(rows.windows), **groups}
    value = {
        "view": same(orjson.dumps(view.name), count),
        "version": same(orjson.dumps(view.version), count),
        "revision": _numbers(rows.revisions),
        **key,
        "window_end_us": _numbers(_ends(view, rows)),
        "count": _numbers(rows.cells[:, COUNT_AT]),
        "fingerprint": hex_as_json(rows.cells[:, FINGERPRINT_AT]),
        **{one.name: _shown(view, one, rows.cells) for one in view.shown},
        "cells": lists_of([_numbers(cells) for cells in rows.cells.T], count),
        "positions": same(orjson.dumps(positions), count),
    }
    return objects_of([*key], [*key.values()], count), objects_of([*value], [*value.values()], count)


def _ends(view: View, rows: FinalRows) -> Int64s:
    cells = rows.cells.tolist() if view.window.merges else [()] * len(rows.cells)
    pairs = zip(rows.windows.tolist(), cells, strict=True)
    return np.array([view.window.window_end(start_us, last_of(view, row)) for start_us, row in pairs], np.int64)


def _numbers(values: Int64s) -> Blobs:
    return numbers_as_json(values, np.ones(len(values), np.bool_))


def _group(held: GroupColumn) -> Blobs:
    if held.dtype == object:
        return texts_as_json(TextColumn.of(held).utf8)
    values = np.asarray(held)
    return numbers_as_json(values, values != NULL_INTEGER)


def _shown(view: View, shown: Shown, cells: Int64s) -> Blobs:
    """What `View.present` gives under one name."""
    first = view.cells.index(shown.cells[0])
    if shown.is_list:
        return lists_of([_numbers(cells[:, first + at]) for at in range(len(shown.cells))], len(cells))
    if shown.unless_zero is None:
        return _numbers(cells[:, first])
    return numbers_as_json(cells[:, first], cells[:, view.cells.index(shown.unless_zero)] != 0)
