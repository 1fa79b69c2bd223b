"""The rows of every view: in the workers over HTTP and in the changelog, against the plain fold."""

from __future__ import annotations

from collections.abc import Iterator

from app.codecs.stored.changelog import ROW, decode_rows, kind_of
from app.codecs.stored.export import LayoutError, check_digest
from app.codecs.stored.row_keys import decode_key, row_prefix
from app.domain.rows import RowKey
from app.domain.view import View
from app.rides.views import VIEWS
from tests.drills.world.evidence import Evidence
from tests.drills.world.expected import Tables, not_equal
from tests.drills.world.observed import Observed
from tests.support.expiry import kept


def differences(evidence: Evidence) -> Iterator[str]:
    for view in VIEWS:
        expected = evidence.expected.rows(view) | evidence.written_rows.get(view.name, {})
        expected = kept(view, expected, {p: markers[-1] for p, markers in evidence.observed.markers.items()})
        if not expected:
            yield f"{view.name}: nothing is expected, so nothing was drilled"
        yield from not_equal(f"{view.name} in the changelog", expected, _in_changelog(view, evidence.observed))
        yield from not_equal(f"{view.name} over HTTP", expected, _exported(view, evidence.observed))
        yield from _not_of_the_last_commit(view, evidence.observed)


def _in_changelog(view: View, observed: Observed) -> Tables:
    rows: Tables = {}
    for partition, latest in observed.latest.items():
        for key, value in latest.items():
            if kind_of(key) == ROW and key.startswith(row_prefix(view)):
                rows[partition, decode_key(view, key)] = tuple(map(int, decode_rows([value], len(view.cells))[0]))
    return rows


def _exported(view: View, observed: Observed) -> Tables:
    rows: Tables = {}
    for partition in observed.partitions:
        _, table = observed.export(view, partition)
        columns = table.to_pydict()
        for i, window in enumerate(columns["window_start_us"]):
            key = RowKey(window, tuple(columns[group.name][i] for group in view.groups))
            rows[partition, key] = tuple(columns[name][i] for name in view.cells)
    return rows


def _not_of_the_last_commit(view: View, observed: Observed) -> Iterator[str]:
    for partition in observed.partitions:
        metadata, table = observed.export(view, partition)
        if metadata.marker != observed.markers[partition][-1]:
            yield f"{view.name}, task {partition}: the export's marker is not the last one of the changelog"
        try:
            check_digest(view, metadata, table)
        except LayoutError as error:
            yield str(error)
