"""Records that no topic of ours could take as they came: each goes on shortened, and says so."""

from __future__ import annotations

from app.base import names
from app.codecs.batches.carrying import KEPT_BYTES, WAITING_BYTES, WHOLE_BYTES, original_of, size
from app.codecs.batches.origin_headers import OFFSET, REASON, TIMESTAMP_MS, told
from app.domain.pairs.join import JoinKind
from app.domain.source import MAX_TEXT_BYTES
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.harness import Harness
from app.testkit.simulation.sent_on import WEIGHED
from tests.support.material.pairing.bills import at, bill, event
from tests.support.material.pairing.calls import BILLS, EVENTS, PAID, of_kind
from tests.support.material.pairing.roads import HEAVY, ROAD, parcel

LARGE = (("own", bytes(2_000_000)),)


def only(records: list[SentRecord]) -> SentRecord:
    (record,) = records
    assert size(record.key, record.value, record.headers) <= WHOLE_BYTES
    return record


def test_a_large_unusable_record_is_quarantined_by_its_beginning() -> None:
    kit = Harness(branches=[WEIGHED])
    offset = kit.send_bytes(ROAD, b"\x01" * 4_000_000, key=b"17", headers=(("a", b"b"),))
    record = only(kit.records(names.quarantine_topic("test")))
    assert (told(record.headers)[OFFSET], told(record.headers)[REASON]) == (str(offset), "bad_magic")
    assert (record.key, record.value, record.headers[0]) == (b"17", b"\x01" * KEPT_BYTES, ("a", b"b"))
    original = original_of(record.headers)
    assert original is not None
    assert (original.value_bytes, original.is_of(b"\x01" * 4_000_000)) == (4_000_000, True)


def test_a_large_late_record_is_set_aside_by_its_beginning() -> None:
    kit = Harness(joins=[PAID])
    kit.send(EVENTS, event("START", 500, "b", sent=500))
    kit.send(EVENTS, event("START", 0, "a", sent=0), headers=LARGE)
    assert original_of(only(kit.records(names.late_topic("test"))).headers) is not None


def test_what_a_record_says_that_was_set_aside_shortened_is_read_where_it_stood() -> None:
    """A value of 66 kB does not end in the 64 KiB that are kept."""
    kit, long = Harness(joins=[PAID]), "x" * MAX_TEXT_BYTES
    kit.send(EVENTS, event("START", 500, "b", sent=500))
    kit.send(EVENTS, event("START", 0, long, sent=0), headers=LARGE)
    kit.send(EVENTS, event("START", 0, "short", sent=0))
    assert original_of(kit.records(names.late_topic("test"))[0].headers) is not None
    assert [(late.offset, late.values["call_id"]) for late in kit.late] == [(1, long), (2, "short")]


def test_a_branch_sends_a_large_record_on_without_its_value_and_says_so() -> None:
    kit = Harness(branches=[WEIGHED])
    kit.send(ROAD, parcel(700), key=b"17", headers=LARGE)
    record = only(kit.records(HEAVY))
    original = original_of(record.headers)
    assert original is not None
    assert (record.key, record.value, original.headers) == (b"17", None, 1)
    assert original.value_bytes


def test_a_large_half_waits_and_meets_and_leaves_like_any_other() -> None:
    join = of_kind(PAID, JoinKind.LEFT)
    kit = Harness(joins=[join])
    headers = (("own", bytes(WAITING_BYTES)),)
    for name in ("met", "free"):
        kit.send(EVENTS, event("START", 0, name, place=1), headers=headers, timestamp_ms=at(0) // 1000)
    kit.restart(compact=True)
    kit.send_all(BILLS, [bill(10, "met"), bill(500, "other")])
    kit.send(EVENTS, event("RING", 500))
    assert sorted((row["call_id"], row["place"], row["cents"]) for row in kit.joined(join)) == [
        ("free", 1, None),
        ("met", 1, 5),
    ]
    left = [half for half in kit.unmatched(join) if half.values["call_id"] == "free"]
    assert [half.values["place"] for half in left] == [1]
    record = only([one for one in kit.records(names.unmatched_topic("test")) if b"free" in (one.value or b"")])
    assert original_of(record.headers[:1]) is not None
    assert told(record.headers)[TIMESTAMP_MS] == str(at(0) // 1000)
