"""Rules that quarantine: a worker refuses what they hold of, from where it began to, and says by which."""

from __future__ import annotations

from dataclasses import replace

from app.domain.source import Action, Rule
from app.domain.view import View
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS
from app.testkit.harness import Harness

YELLOW = "rides.yellow"
NINE_US = 1_767_603_600_000_000
UNPAID = Rule("unpaid", Action.QUARANTINE, "fare_cents < 1")
EMPTY = Rule("empty", Action.QUARANTINE, "passenger_count == 0 or passenger_count is null")


def trips(*rules: Rule) -> View:
    return replace(VENDOR_TRIPS, source=replace(RIDES, rules=rules))


def ride(ride_id: str, fare_cents: int, passenger_count: int | None = 1) -> dict[str, object]:
    times = {"pickup_at_us": NINE_US, "dropoff_at_us": NINE_US + 60_000_000}
    return {"ride_id": ride_id, "vendor": "1", "fare_cents": fare_cents, "passenger_count": passenger_count, **times}


def count(worker: Harness, view: View) -> int:
    return sum(int(row["trips"]) for row in worker.rows(view))


def test_the_first_rule_that_holds_is_the_reason() -> None:
    view = trips(UNPAID, EMPTY)
    worker = Harness([view])
    worker.send_all(YELLOW, [ride("a", 999), ride("b", 0), ride("c", 999, 0), ride("d", -1, None)])
    told = [(refused.offset, refused.reason) for refused in worker.quarantined]
    assert told == [(1, "unclean:unpaid"), (2, "unclean:empty"), (3, "unclean:unpaid")]
    assert count(worker, view) == 1


def test_what_a_rule_refuses_moves_no_watermark() -> None:
    worker = Harness([trips(UNPAID)])
    worker.send_all(YELLOW, [ride("a", 999), ride("b", 0) | {"dropoff_at_us": NINE_US + 300_000_000}])
    assert worker.watermark_us(YELLOW) == NINE_US + 60_000_000


def test_other_reasons_come_first() -> None:
    worker = Harness([trips(UNPAID)])
    worker.send(YELLOW, ride("a", -2_000_000_000))
    assert [refused.reason for refused in worker.quarantined] == ["out_of_bounds:fare_cents"]


def test_a_rule_that_comes_or_goes_holds_from_there_on() -> None:
    worker = Harness([trips()])
    worker.send(YELLOW, ride("before", 0))
    worker.restart(views=[trips(UNPAID)])
    worker.send(YELLOW, ride("while it held", 0))
    worker.restart(views=[trips()])
    worker.send(YELLOW, ride("after", 0))
    assert [refused.offset for refused in worker.quarantined] == [1]
    assert count(worker, trips()) == 2


def test_a_view_that_is_new_sees_what_the_others_saw() -> None:
    worker = Harness([trips(UNPAID)])
    worker.send_all(YELLOW, [ride("a", 0), ride("b", 999)])
    fares = replace(trips(), number=77, name="again")
    worker.restart(views=[trips(), fares])
    worker.send(YELLOW, ride("c", 0))
    assert (count(worker, trips()), count(worker, fares)) == (2, 2)
