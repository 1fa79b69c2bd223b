"""Whether a decoded record may be used: its bounds, its time stamps, and the rules of its source that refuse."""

from __future__ import annotations

from app.domain.cleanliness.condition import holds
from app.domain.event_time import is_skewed
from app.domain.records import Reason, Record, TopicPartition, Value, as_integer
from app.domain.rules.epochs import AS_DECLARED, Rules
from app.domain.source import Source, out_of_bounds


def refusal(source: Source, record: Record, values: dict[str, Value], rules: Rules = AS_DECLARED) -> str | None:
    """Why a decoded record is unusable, or None."""
    outside = out_of_bounds(source, record.values)
    if outside is not None:
        return f"{Reason.OUT_OF_BOUNDS}:{outside}"
    if record.timestamp_ms < 0:
        return Reason.NO_TIMESTAMP
    epoch = rules.held_to(source, TopicPartition(record.topic, record.partition), record.offset)
    if is_skewed(as_integer(values[source.reported_at]), record.timestamp_ms, epoch.skew_seconds):
        return Reason.SKEWED
    unclean = (name for name, condition in source.conditions(epoch.refuses) if holds(condition, values))
    return next((f"{Reason.UNCLEAN}:{name}" for name in unclean), None)
