"""Records that were refused, as the late and quarantine topics hold them; and which of them are meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Message

from app.base import names
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.committed import committed
from app.base.settings import Settings
from app.codecs.batches import origin_headers
from app.codecs.batches.carrying import Original, original_of
from app.codecs.batches.origin_headers import REASON, TIMESTAMP_MS, VERSIONS, VIEWS
from app.codecs.batches.record_headers import Headers
from app.domain.errors import LayoutError
from app.domain.records import Place, TopicPartition

LATE = "late"
"""What stands for the reason of a record of the late topic."""
TOLD_EVERY = 1_000


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A source record as it came, with `reason` LATE or that of the quarantine.

    `timestamp_ms` is its own Kafka timestamp. `views`: those that it was late for, and their versions ("" if the
    record was set aside before versions were told). `original`: what it was, if only its beginning is here.
    """

    place: Place
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    reason: str
    views: Mapping[str, str]
    original: Original | None = None

    @property
    def value_bytes(self) -> int:
        """Of the record's value as it came, 0 of a null."""
        return len(self.value or b"") if self.original is None else self.original.value_bytes or 0


@dataclass(frozen=True, slots=True)
class Selection:
    """Which refused records are meant; what is empty or None leaves all in.

    A reason without its column (`out_of_bounds`) stands for all columns. `offsets` and `times_ms` (Kafka's own
    timestamps) are half-open, None for no end. `versions`: those of the views that are meant, which may have been
    called otherwise. Records of the quarantine were refused by no view: of `quarantined_of`, topics that the views
    read, they are meant.
    """

    reasons: frozenset[str] = frozenset()
    views: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    partitions: frozenset[int] = frozenset()
    offsets: tuple[int | None, int | None] = (None, None)
    times_ms: tuple[int | None, int | None] = (None, None)
    places: frozenset[Place] = field(default=frozenset())
    versions: frozenset[str] = frozenset()
    quarantined_of: frozenset[str] = frozenset()

    def takes(self, record: RefusedRecord) -> bool:
        place = record.place
        return (
            (not self.reasons or bool({record.reason, record.reason.partition(":")[0]} & self.reasons))
            and (not self.views or bool(self.views_of(record)) or self._is_read(record))
            and (not self.topics or place.topic in self.topics)
            and (not self.partitions or place.partition in self.partitions)
            and (not self.places or place in self.places)
            and _inside(place.offset, self.offsets)
            and _inside(record.timestamp_ms, self.times_ms)
        )

    def views_of(self, record: RefusedRecord) -> Mapping[str, str]:
        """The views that it was late for, of those that are meant."""
        meant = self.views, self.versions
        return {n: v for n, v in record.views.items() if not self.views or n in meant[0] or v in meant[1]}

    def _is_read(self, record: RefusedRecord) -> bool:
        return record.reason != LATE and record.place.topic in self.quarantined_of


class RefusedLog:
    """The late and quarantine topics as they are now; `offsets`: how many there are to read.

    Raises ClusterError, LogSilent, LogRefused.
    """

    def __init__(self, settings: Settings) -> None:
        late, quarantine = names.late_topic(settings.app_id), names.quarantine_topic(settings.app_id)
        self._client, self._late = librdkafka_options(settings.kafka), late
        cluster = Cluster(settings.kafka)
        facts = cluster.topics((late, quarantine))
        places = [TopicPartition(topic, p) for topic in (late, quarantine) for p in range(facts[topic].partitions)]
        ends = cluster.log_ends(places, committed=True)
        self._spans = [(at, start, ends[at]) for at, start in cluster.log_starts(places).items() if ends[at] > start]
        self.foreign: list[str] = []
        """Of what was read: what is there that no worker wrote, in words with its place."""
        self.offsets = sum(end - start for _, start, end in self._spans)

    def selected(self, selection: Selection, advanced: Callable[[int], None]) -> Iterator[RefusedRecord]:
        """The selected records; `advanced` is told now and then how many offsets were read.

        A record that no worker wrote is noted in `foreign` and passed over: it refuses nothing.
        """
        before = 0
        for at, start, end in sorted(self._spans):
            for message in committed(self._client, at.topic, at.partition, start):
                if not message.offset() % TOLD_EVERY:
                    advanced(before + message.offset() - start)
                try:
                    record = refused_record(message, late=at.topic == self._late)
                except LayoutError as error:
                    self.foreign.append(str(error))
                    continue
                if selection.takes(record):
                    yield record
            before += end - start


def refused_record(message: Message, *, late: bool) -> RefusedRecord:
    headers: list[tuple[str, bytes]] = message.headers() or []
    told = origin_headers.told(headers)
    try:
        place = origin_headers.place(told)
        reason = LATE if late else told[REASON]
        views = told[VIEWS].split(",") if late else []
        timestamp_ms = int(told[TIMESTAMP_MS])
        original = original_of(tuple(headers))
    except (KeyError, ValueError, TypeError) as error:
        where = f"{message.topic()}-{message.partition()} at offset {message.offset()}"
        raise LayoutError(f"{where}: no worker wrote this, it does not say where it came from ({error})") from error
    versions = told.get(VERSIONS, "," * (len(views) - 1)).split(",")
    appended = 4 + 1 + (late and VERSIONS in told) + (original is not None)
    came_with: Headers = tuple(headers[: len(headers) - appended])
    of_views = dict(zip(views, versions, strict=True)) if late else {}
    return RefusedRecord(place, timestamp_ms, message.key(), message.value(), came_with, reason, of_views, original)


def _inside(number: int, bounds: tuple[int | None, int | None]) -> bool:
    first, end = bounds
    return (first is None or number >= first) and (end is None or number < end)
