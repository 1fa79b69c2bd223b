"""What must have come of the acknowledged records: decoded and folded one by one, without engine and Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property

from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.advance import Advance
from app.domain.fingerprint import Origin, mix, pack, signed
from app.domain.oracle.view_fold import Folded, fold
from app.domain.records import Place, Record
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.rides.ride import RIDES
from app.rides.views import VIEWS
from tests.drills.world.load import UNKNOWN_ID, Acked

BLOCK_OFFSETS = 65_536

Tables = dict[tuple[int, RowKey], Cells]


class Expected:
    """`advances` hold from their offsets on; `schemas` are the load's, by id."""

    def __init__(self, acked: Mapping[Place, Acked], schemas: Mapping[int, str], advances: list[Advance]) -> None:
        known: dict[int, WriterSchema | None] = {number: WriterSchema(number, text) for number, text in schemas.items()}
        known[UNKNOWN_ID] = None
        self.acked, self.advances = acked, advances
        self.records: list[Record] = []
        self.unreadable: dict[Place, str] = {}
        strict = StrictDecoder(RIDES.columns)
        for place, record in sorted(acked.items()):
            decoded = strict.decode(record.value, known)
            if isinstance(decoded, Unreadable):
                self.unreadable[place] = str(decoded.reason)
            else:
                self.records.append(Record(*place, record.timestamp_ms, decoded))

    @cache  # noqa: B019  (one object a run)
    def folded(self, view: View) -> Folded:
        """The view's fold."""
        return fold(view, self.records, self.advances)

    def rows(self, view: View) -> Tables:
        """Per task and key."""
        return {(p, key): cells for p, rows in self.folded(view).rows.items() for key, cells in rows.items()}

    @cached_property
    def quarantined(self) -> dict[Place, str]:
        """Reason of every unusable record."""
        refused = self.folded(VIEWS[0]).quarantined
        return self.unreadable | {Place(r.topic, r.partition, r.offset): str(r.reason) for r in refused}

    @cached_property
    def late(self) -> dict[Place, list[str]]:
        """Views, in their order, for which a record came too late."""
        late: dict[Place, list[str]] = {}
        for view in VIEWS:
            for record in self.folded(view).late:
                late.setdefault(place_of(record), []).append(view.name)
        return late

    def blocks(self, view: View) -> dict[tuple[int, int, int], tuple[int, int]]:
        """Count and fingerprint of what was applied, per partition, topic number and block."""
        blocks: dict[tuple[int, int, int], tuple[int, int]] = {}
        for record in self.folded(view).applied:
            number = RIDES.topic(record.topic).number
            at = record.partition, number, record.offset // BLOCK_OFFSETS
            count, total = blocks.get(at, (0, 0))
            mixed = mix(pack(Origin(number, record.partition, record.offset)))
            blocks[at] = count + 1, signed(total + mixed)
        return blocks


def place_of(record: Record) -> Place:
    return Place(record.topic, record.partition, record.offset)


def not_equal(what: str, expected: Mapping, found: Mapping) -> Iterator[str]:
    """In words, how two mappings differ: how many keys on each side, and the first of them."""
    missing, extra = expected.keys() - found.keys(), found.keys() - expected.keys()
    other = [key for key in expected.keys() & found.keys() if expected[key] != found[key]]
    if missing:
        yield f"{what}: {len(missing)} of {len(expected)} are missing, such as {min(missing, key=repr)}"
    if extra:
        key = min(extra, key=repr)
        yield f"{what}: {len(extra)} too many, such as {key}: {found[key]}"
    if other:
        key = min(other, key=repr)
        yield f"{what}: {len(other)} of {len(expected)} differ, such as {key}: {found[key]} instead of {expected[key]}"
