"""What a harness gives back: stored rows, and the records that tasks send on, as plain Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from app.codecs.avro.schema import Schemas
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.codecs.batches import origin_headers
from app.codecs.batches.origin_headers import JOIN, REASON, SIDE, VIEWS
from app.codecs.stored.changelog import decode_rows
from app.codecs.stored.row_keys import decode_key, row_prefix
from app.domain.oracle.view_fold import together
from app.domain.records import Place, Value
from app.domain.rows import Cells, RowKey
from app.domain.source import Column
from app.domain.view import WINDOW_NAME, View
from app.engine.core.rows.state import ViewState
from app.testkit.cluster.partition_log import SentRecord


class Late(NamedTuple):
    """A record that came too late for `views` (or joins, by name): where it stands, and what it says."""

    topic: str
    partition: int
    offset: int
    values: dict[str, Value]
    views: tuple[str, ...]


class Quarantined(NamedTuple):
    """A record that cannot be used: where it stands, why, and its bytes."""

    topic: str
    partition: int
    offset: int
    reason: str
    value: bytes | None


class Unmatched(NamedTuple):
    """A half that nobody met: of which join and side ("left", "right"), where it stands, and what it says."""

    join: str
    side: str
    topic: str
    partition: int
    offset: int
    values: dict[str, Value]


def stored_rows(held: ViewState) -> dict[RowKey, Cells]:
    """The rows that a view holds, one by one."""
    keys, values = held.stored()
    cells = decode_rows(values, len(held.view.cells))
    return {decode_key(held.view, k): tuple(row.tolist()) for k, row in zip(keys, cells, strict=True)}


def merged_rows(view: View, held: Iterable[ViewState]) -> dict[RowKey, Cells]:
    """The rows that several tasks hold of a view, one of each key."""
    return together(view, map(stored_rows, held))


def logged_rows(view: View, records: Iterable[SentRecord]) -> list[tuple[RowKey, Cells | None]]:
    """What records of a changelog say of a view's rows; None is a row that went."""
    of_view = (record for record in records if (record.key or b"").startswith(row_prefix(view)))
    return [(decode_key(view, record.key or b""), _cells(view, record.value)) for record in of_view]


def shown(view: View, key: RowKey, cells: Cells) -> dict[str, Any]:
    """A row as a query shows it: window, groups, measures."""
    window = {WINDOW_NAME: key.window_start_us} if view.window.ends else {}
    if view.window.last_cell is not None:
        window[view.window.last_cell] = cells[view.last_at]
    groups = {group.name: value for group, value in zip(view.groups, key.group, strict=True)}
    return {**window, **groups, **view.present(cells)}


def in_order(key: RowKey) -> tuple[int, list[tuple[bool, Value]]]:
    """Sort key: by window, then group, null before any value."""
    return key.window_start_us or 0, [(value is not None, value) for value in key.group]


def values(value: bytes | None, columns: Sequence[Column], schemas: Schemas) -> dict[str, Value]:
    """What a record says; ValueError if it cannot be read."""
    decoded = StrictDecoder(columns).decode(value, schemas)
    if isinstance(decoded, Unreadable):
        raise ValueError(f"the record cannot be decoded: {decoded.reason}")
    return decoded


ReadRecord = Callable[[Place, SentRecord], dict[str, Value]]
"""What a record says that was set aside, given where it stood."""


def late(record: SentRecord, read: ReadRecord) -> Late:
    told = origin_headers.told(record.headers)
    place = origin_headers.place(told)
    return Late(*place, read(place, record), tuple(told[VIEWS].split(",")))


def quarantined(record: SentRecord) -> Quarantined:
    told = origin_headers.told(record.headers)
    return Quarantined(*origin_headers.place(told), told[REASON], record.value)


def unmatched(record: SentRecord, read: ReadRecord) -> Unmatched:
    told = origin_headers.told(record.headers)
    place = origin_headers.place(told)
    return Unmatched(told[JOIN], told[SIDE], *place, read(place, record))


def _cells(view: View, value: bytes | None) -> Cells | None:
    return None if value is None else tuple(decode_rows([value], len(view.cells))[0].tolist())
