"""An alert as its topic holds it."""

from __future__ import annotations

from app.codecs.avro.record import encode_record
from app.codecs.stored.halves import StoredHalf
from app.domain.errors import StateError
from app.domain.pairs.alert import AT_OFFSET, BEGAN_AT, END_ORIGIN, ENDED_AT, START_ORIGIN, TOLD_AT, Alert
from app.engine.core.batch import Output
from app.engine.core.draft import Draft


def alert_output(
    draft: Draft, alert: Alert, start: StoredHalf, end: StoredHalf | None, offset: int, told_at_us: int
) -> Output:
    """The record of an alert that was due at `offset`; its Kafka timestamp is the watermark that told it."""
    if start.waiting is None:
        raise StateError(f"alert {alert.name}: the beginning at offset {start.offset} has ended already")
    partition = draft.state.partition
    own = {
        BEGAN_AT: start.at_us,
        ENDED_AT: None if end is None else end.at_us,
        TOLD_AT: told_at_us,
        START_ORIGIN: alert.origin(partition, start.offset),
        END_ORIGIN: None if end is None else alert.origin(partition, end.offset),
        AT_OFFSET: offset,
    }
    values = alert.told(start.id, start.waiting.columns, own)
    value = encode_record(alert.source, draft.definition.schema_ids[alert.output.name], values)
    timestamp_ms = -(-told_at_us // 1000)  # not before the instant itself, or it were ahead of its time
    return Output(alert.output.name, str(start.id).encode(), value, partition=partition, timestamp_ms=timestamp_ms)
