"""Sources that somebody had compacted: what is gone from them can be recomputed from nothing."""

from __future__ import annotations

from collections.abc import Iterable

from app.base.errors import KafkaUnavailable
from app.base.kafka.topic_admin import described
from app.base.settings import Settings
from app.domain.source import Source
from app.topics import source_topics
from spark_batch.errors import Inconclusive, Invalid
from spark_batch.stored.ledgers import LedgerEntry

CLEANUP, COMPACT = "cleanup.policy", "compact"


def require_records_kept(settings: Settings, source: Source, ledger: Iterable[LedgerEntry]) -> None:
    """Invalid where the worker read more records than there are, of a topic that is compacted now.

    Where nothing has been compacted yet all is there, and the comparison means what it says. A topic that was
    compacted and set back to `delete` looks like a worker that counted records which never were.
    """
    fewer = [entry for entry in ledger if entry.name == "not_records" and entry.recomputed > entry.marker]
    if not fewer:
        return
    try:
        found = described(settings.kafka, source_topics(settings, source))
    except KafkaUnavailable as error:
        raise Inconclusive(str(error)) from error
    compacted = {name for name, told in found.items() if COMPACT in (told.settings.get(CLEANUP) or "")}
    gone = [f"  - {e.topic}-{e.partition}: {e.recomputed - e.marker} records" for e in fewer if e.topic in compacted]
    if gone:
        listed = "\n".join(gone)
        raise Invalid(
            f"records that the tables count are gone from topics with {CLEANUP}={COMPACT}:\n{listed}\n"
            "Set it to delete; `flagfall rebuild` then makes tables of what is left, which can be checked"
        )
