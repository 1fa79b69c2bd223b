"""Whether the records that were found are the row's; and what it says where the log alone cannot tell."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from app.domain.fingerprint import signed, unmix, unpack
from app.domain.records import TopicPartition
from app.domain.rows import COUNT_AT, FINGERPRINT_AT, Cells
from app.domain.view import View
from app.edge.http.brokers import Brokers
from app.edge.http.evidence.looking import Looking
from app.edge.http.evidence.search_cursors import SearchCursor
from app.engine.core.searching import Search
from app.engine.drive.kafka.row_search import RowSearch, Rulings


class RowVerdict(NamedTuple):
    """`agrees`: None as long as not all was looked at, and where the log cannot tell any more. `lost`: where logs begin
    that have lost what may have been of the row."""

    agrees: bool | None = None
    lost: Mapping[TopicPartition, int] = {}


async def verdict(
    searcher: RowSearch, brokers: Brokers, looking: Looking, view: View, cursor: SearchCursor, rulings: Rulings
) -> RowVerdict:
    """A row is accused of nothing that truncated logs, or records that were mended before they were fed, explain."""
    if not cursor.is_at_end:
        return RowVerdict()
    if cursor.found == cursor.row:
        return RowVerdict(agrees=True)
    lost = await brokers.answer(searcher.lost(view, cursor.asked, rulings, cursor.wanted, is_short=cursor.is_short))
    if lost or await _are_mended(looking, cursor):
        return RowVerdict(None, lost)
    return RowVerdict(agrees=False)


async def _are_mended(looking: Looking, cursor: SearchCursor) -> bool:
    """Whether the row is made of these records, some of which were brought in by hand: maybe with other values."""
    if any(cursor.found[cell] != cursor.row[cell] for cell in (COUNT_AT, FINGERPRINT_AT)):
        return False
    return bool(await looking.added_spans(Search(cursor.asked, (), cursor.wanted, cursor.found)))


def missing(view: View, cursor: SearchCursor, lost: Mapping[TopicPartition, int]) -> dict[str, Any]:
    """What could not be found: how many records, the one if it is one, and where logs begin, if that may be why."""
    return {
        "count": (count := sum(cursor.wanted.values())),
        "record": _one_between(view, cursor.row, cursor.found, cursor.wanted) if count == 1 else None,
        "logs_begin": {str(place): at for place, at in sorted(lost.items())},
    }


def lacks(view: View, cursor: SearchCursor) -> dict[str, Any] | None:
    """What the topics have of the row beyond what it is made of: how many records, and the one if it is one."""
    count = cursor.found[COUNT_AT] - cursor.row[COUNT_AT]
    if count <= 0:
        return None
    one = _one_between(view, cursor.found, cursor.row, cursor.wanted) if count == 1 else None
    return {"count": count, "record": one}


def _one_between(view: View, more: Cells, less: Cells, partitions: Container[int]) -> dict[str, Any] | None:
    """The record of these tasks by which the one has more than the other, if it is one."""
    number, partition, offset = unpack(unmix(signed(more[FINGERPRINT_AT] - less[FINGERPRINT_AT])))
    topics = {topic.number: topic.name for topic in view.source.topics}
    if number in topics and partition in partitions:
        return {"topic": topics[number], "partition": partition, "offset": offset}
    return None
