"""Which records the ride topics must have, by what the brokers confirmed of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from app.domain.records import Place
from tests.drills.world.load import Acked, Unplaced


def confirmed_records(
    acked: Mapping[Place, Acked], unplaced: Sequence[Unplaced], log: Mapping[Place, Acked], *, forgets: bool
) -> dict[Place, Acked]:
    """Every confirmed record at its place; one confirmed without a place stands where the log has it.

    A record without a place that the log has not is given a negative offset, where nothing can be found.

    `forgets`: records that nobody confirmed, each equal to a confirmed one of its topic-partition, are among them. A
    broker that starts forgets the producers whose last record bears a timestamp older than `producer.id.expiration.ms`,
    as rides of the past do: what it has appended without an answer, it appends again when the producer repeats it. Such
    a record is in the topic, so it counts.
    """
    records = dict(acked)
    sought = Counter(unplaced)
    confirmed = {Unplaced(place.topic, place.partition, record) for place, record in acked.items()} | set(unplaced)
    for place, record in log.items():
        if place in acked:
            continue
        here = Unplaced(place.topic, place.partition, record)
        if sought[here] > 0:
            sought[here] -= 1
            records[place] = record
        elif forgets and here in confirmed:
            records[place] = record
    for number, lost in enumerate(sought.elements(), start=1):
        records[Place(lost.topic, lost.partition, -number)] = lost.record
    return records
