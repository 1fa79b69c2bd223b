"""Which rows have left their table, by what the task's marker says."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.marker import Marker, ViewPosition
from app.domain.rows import Cells, RowKey, end_of
from app.domain.view import View
from tests.support.flow import ByTask


def kept(view: View, rows: ByTask, markers: Mapping[int, Marker]) -> ByTask:
    """Rows that their task has not dropped as expired; `markers`: the last one of each task."""
    positions = {partition: marker.views[view.name] for partition, marker in markers.items()}
    return {(p, key): cells for (p, key), cells in rows.items() if not _has_expired(view, key, cells, positions[p])}


def _has_expired(view: View, key: RowKey, cells: Cells, position: ViewPosition) -> bool:
    """Rows of all time never do."""
    if key.window_start_us is None or position.expired_to_us is None:
        return False
    return end_of(view, key, cells) <= position.expired_to_us
