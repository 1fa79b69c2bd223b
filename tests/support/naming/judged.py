"""Every usable record of a source with its row and its fate in a view, by the rules, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.domain.advance import Advance
from app.domain.contribution import key_of
from app.domain.difference import Fate, Witness
from app.domain.event_time import NO_WATERMARK
from app.domain.oracle.view_fold import is_late
from app.domain.records import Record, TopicPartition, as_integer
from app.domain.rules.admission import refusal
from app.domain.rules.epochs import AS_DECLARED
from app.domain.source import with_derived
from app.domain.view import View


def judged(view: View, records: Iterable[Record], advances: Iterable[Advance] = ()) -> Iterator[Witness]:
    """The naive fold (`app.domain.oracle.view_fold`) tells which records were applied, not to which rows."""
    watermarks: dict[TopicPartition, int] = {}
    raised = list(advances)
    for record in records:
        at = TopicPartition(record.topic, record.partition)
        due = [a.watermark_us for a in raised if (a.topic, a.partition) == at and a.at_offset <= record.offset]
        watermark = max([watermarks.get(at, NO_WATERMARK), *due])
        values = with_derived(view.source, record.values)
        if refusal(view.source, record, values, AS_DECLARED) is None:
            watermark = max(watermark, as_integer(values[view.source.reported_at]))
            key = key_of(view, values, watermark)
            if key is None:
                yield Witness(record, None, Fate.OUT_OF_SCOPE)
            else:
                yield Witness(record, key, Fate.LATE if is_late(view, key.window_start_us, watermark) else Fate.APPLIED)
        watermarks[at] = watermark
