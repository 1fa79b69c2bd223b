"""Finals by column are byte for byte what orjson makes of each alone (docs/formats.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.stored.changelog import NULL_INTEGER
from app.codecs.stored.final_records import FinalRows, final_records
from app.codecs.text_column import TextColumn
from app.domain.fingerprint import as_hex
from app.domain.rows import COUNT_AT, FINGERPRINT_AT, last_of
from app.domain.view import Group, View
from app.domain.windows.boundaries import Unit
from app.domain.windows.calendar import Calendar
from app.domain.windows.session import Session
from app.rides.views import ZONE_DEMAND

GROUPED = replace(ZONE_DEMAND, groups=(Group("zone", "pickup_zone"), Group("driver", "vendor")))
VIEWS = {
    "zones": ZONE_DEMAND,
    "sessions": replace(GROUPED, name="sessions", window=Session("pickup_at_us", 60)),
    "days": replace(GROUPED, name="days", groups=(), window=Calendar("pickup_at_us", Unit.DAY, "America/New_York")),
}
POSITIONS = {"0": {"rides.yellow": 12}, "1": {"rides.yellow": 0, "rides.green": 3}}
CELLS = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]) | st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@given(data=st.data())
def test_finals_are_what_orjson_writes(view: View, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 4))
    instants = data.draw(_many(st.integers(*view.source.instants_us), count))
    windows = np.array([view.window.start(instant) for instant in instants], np.int64)
    zones = data.draw(_many(st.none() | st.integers(0, 265), count))
    vendors = data.draw(_many(st.none() | st.text(max_size=5), count))
    cells = np.array(data.draw(_many(_many(CELLS, len(view.cells)), count)), np.int64).reshape(count, len(view.cells))
    if view.window.merges:
        cells[:, view.last_at] = windows + 5
    revisions = np.arange(count)
    held = [np.array([NULL_INTEGER if zone is None else zone for zone in zones], np.int64), TextColumn.of(vendors)]
    rows = FinalRows(windows, held[: len(view.groups)], cells, revisions)
    keys, values = final_records(view, rows, POSITIONS)
    groups = [pair[: len(view.groups)] for pair in zip(zones, vendors, strict=True)]
    naive = [
        _final(view, *row) for row in zip(windows.tolist(), groups, cells.tolist(), revisions.tolist(), strict=True)
    ]
    assert list(zip(keys, values, strict=True)) == naive


def _many(one: st.SearchStrategy[Any], count: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(one, min_size=count, max_size=count)


def _final(view: View, start_us: int, group: tuple[Any, ...], cells: list[int], revision: int) -> tuple[bytes, bytes]:
    names = [group.name for group in view.groups]
    key = {"window_start_us": start_us, **dict(zip(names, group, strict=True))}
    value = {
        "view": view.name,
        "version": view.version,
        "revision": revision,
        **key,
        "window_end_us": view.window.window_end(start_us, last_of(view, cells)),
        "count": cells[COUNT_AT],
        "fingerprint": as_hex(cells[FINGERPRINT_AT]),
        **view.present(cells),
        "cells": cells,
        "positions": POSITIONS,
    }
    return orjson.dumps(key), orjson.dumps(value)
