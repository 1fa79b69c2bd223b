"""The public kit: what a user feeds, and what comes out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.domain.errors import DefinitionError
from app.domain.event_time import NO_WATERMARK
from app.domain.rows import RowKey
from app.testkit.harness import Harness, HarnessError
from app.testkit.simulation.parcels import CARRIERS, HUB_LOAD, MINUTE_US, PARCELS, ROUNDS, STARS
from app.testkit.simulation.samples import START_US
from app.testkit.simulation.sent_on import SIGNED
from tests.support.material.parcel import AIR, ROAD, parcel


def test_all_topics_of_a_source_meet_in_a_row() -> None:
    kit = Harness(views=[HUB_LOAD])
    kit.send(AIR, parcel(0, hub=3, weight_grams=10))
    kit.send(ROAD, parcel(9, hub=3, weight_grams=30))
    assert kit.rows(HUB_LOAD) == [
        {
            "window_start_us": START_US,
            "hub": 3,
            "parcels": 2,
            "grams": 40,
            "grams_values": 2,
            "heaviest": 30,
            "heaviest_values": 2,
        }
    ]


def test_one_by_one_and_all_at_once_give_the_same_rows() -> None:
    parcels = [parcel(minute, hub=minute % 2 + 1) for minute in (0, 29, 1, 50, 2)]
    one_by_one, at_once = Harness(views=[HUB_LOAD, CARRIERS]), Harness(views=[HUB_LOAD, CARRIERS])
    for values in parcels:
        one_by_one.send(AIR, values)
    assert at_once.send_all(AIR, parcels) == [0, 1, 2, 3, 4]
    for view in (HUB_LOAD, CARRIERS):
        assert one_by_one.cells(view) == at_once.cells(view)
    assert [late.offset for late in one_by_one.late] == [late.offset for late in at_once.late] == [4]


def test_a_watermark_moves_by_hand_and_never_back() -> None:
    kit = Harness(views=[HUB_LOAD])
    assert kit.watermark_us(AIR) == NO_WATERMARK
    kit.advance_watermark(AIR, START_US + MINUTE_US)
    kit.advance_watermark(AIR, START_US)
    assert kit.watermark_us(AIR) == START_US + MINUTE_US
    assert kit.watermark_us(ROAD) == NO_WATERMARK


def test_rows_expire_as_time_is_advanced_and_the_changelog_says_so() -> None:
    kit = Harness(views=[ROUNDS])
    kit.send(AIR, parcel(0, delivered_at_us=START_US))
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 2 * 60 * MINUTE_US)
    assert kit.rows(ROUNDS) == []
    (came, gone) = kit.changelog(ROUNDS)
    assert came[0] == gone[0] == RowKey(START_US, (None,))
    assert came[1] is not None
    assert gone[1] is None


def test_finals_come_when_every_task_has_closed_the_window() -> None:
    kit = Harness(finals=[HUB_LOAD], partitions=2)
    kit.send(AIR, parcel(0, hub=1), partition=0)
    kit.send(AIR, parcel(1, hub=1), partition=1)
    for partition in (0, 1):
        assert kit.finals(HUB_LOAD) == []
        for topic in (AIR, ROAD):
            kit.advance_watermark(topic, START_US + 30 * MINUTE_US, partition=partition)
    (final,) = kit.finals(HUB_LOAD)
    assert (final["window_start_us"], final["hub"], final["parcels"]) == (START_US, 1, 2)


def test_a_window_that_ends_at_the_epoch_is_closed_once() -> None:
    """Closed to instant 0 is another thing than closed to none."""
    from_1970 = [replace(d, column=replace(d.column, low=0)) if d.chosen_from else d for d in PARCELS.derived]
    load = replace(HUB_LOAD, source=replace(PARCELS, derived=tuple(from_1970)))
    kit = Harness(finals=[load])
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, load.grace_us)
    assert kit.marker().views[load.name].closed_to_us == 0


def test_a_watermark_that_no_record_could_bring_is_refused_in_words() -> None:
    kit = Harness(views=[HUB_LOAD])
    with pytest.raises(HarnessError, match=rf"{START_US * 1000} is no instant of parcels: \(946684800000000, "):
        kit.advance_watermark(AIR, START_US * 1000)
    assert kit.watermark_us(AIR) == NO_WATERMARK


def test_a_grace_changed_by_another_release_opens_no_window_that_was_closed() -> None:
    kit, longer = Harness(finals=[HUB_LOAD]), replace(HUB_LOAD, grace_seconds=7200)
    kit.send(AIR, parcel(0, hub=1))
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 30 * MINUTE_US)
    assert len(kit.finals(HUB_LOAD)) == 1
    kit.restart(views=[longer])
    kit.send(AIR, parcel(9, hub=1))  # of the window that was published
    kit.send(AIR, parcel(10, hub=1))  # of the next one, which the watermark had not closed
    assert [late.views for late in kit.late] == [(HUB_LOAD.name,)]
    assert [row["parcels"] for row in kit.rows(longer)] == [1, 1]
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 20 * MINUTE_US + longer.grace_us)
    assert len(kit.finals(longer)) == 2


def test_what_waited_to_be_published_when_a_view_left_is_not_published_when_it_is_back() -> None:
    """One of two tasks has closed the window, so rows and marks wait in both."""
    kit, light = Harness(finals=[HUB_LOAD], partitions=2), replace(HUB_LOAD, measures=HUB_LOAD.measures[:1])
    for hub in range(1, 6):
        kit.send(AIR, parcel(0, hub=hub), partition=0)
        kit.send(AIR, parcel(1, hub=hub), partition=1)
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 30 * MINUTE_US, partition=0)
    kit.restart(views=[light])
    kit.restart(views=[HUB_LOAD])
    assert kit.finals(HUB_LOAD) == []
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 30 * MINUTE_US, partition=1)
    finals = sorted((final["hub"], final["parcels"]) for final in kit.finals(HUB_LOAD))
    assert finals == [(hub, 2) for hub in range(1, 6)]


def test_a_view_that_comes_back_publishes_no_window_again_and_closes_the_next() -> None:
    kit, light = Harness(finals=[HUB_LOAD]), replace(HUB_LOAD, measures=HUB_LOAD.measures[:1])
    kit.send(AIR, parcel(0, hub=1))
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 30 * MINUTE_US)
    for views in ([light], [HUB_LOAD], [light], [HUB_LOAD]):
        kit.restart(views=views)
    kit.send(AIR, parcel(31, hub=1))
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 60 * MINUTE_US)
    told = [(final["window_start_us"], final["version"], final["parcels"]) for final in kit.finals(HUB_LOAD)]
    next_us = START_US + 30 * MINUTE_US
    assert told == [(START_US, HUB_LOAD.version, 1), (START_US, light.version, 1), (next_us, HUB_LOAD.version, 1)]


def test_a_view_that_comes_back_is_as_it_was_corrected() -> None:
    kit, light = Harness(views=[HUB_LOAD]), replace(HUB_LOAD, measures=HUB_LOAD.measures[:1])
    kit.send(AIR, parcel(0, hub=1))
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 30 * MINUTE_US)
    ((key, cells),) = kit.cells(HUB_LOAD).items()
    document = {"run": "r", "view": HUB_LOAD.name, "version": HUB_LOAD.version, "expected": cells, "row": None}
    outcome = kit.correct({**document, "window_start_us": key.window_start_us, "group": key.group})
    assert outcome["outcome"] == "applied"
    assert kit.cells(HUB_LOAD) == {}
    kit.restart(views=[light])
    assert kit.cells(light) == {key: cells[: len(light.cells)]}
    kit.restart(views=[HUB_LOAD])
    assert kit.cells(HUB_LOAD) == {}


def test_a_release_with_views_over_another_source_is_refused() -> None:
    with pytest.raises(DefinitionError, match="'stars' is over source 'receipts', which is not of these tasks"):
        Harness(views=[HUB_LOAD]).restart(views=[STARS])


def test_a_join_is_fed_by_two_sources_and_kept_by_a_new_worker() -> None:
    kit = Harness(views=[STARS], joins=[SIGNED])
    kit.send(ROAD, parcel(0, "a", delivered_at_us=START_US))
    kit.restart(compact=True)
    kit.send("receipts", {"parcel_id": "a", "signed_at_us": START_US + MINUTE_US, "stars": 5})
    (signed,) = kit.joined(SIGNED)
    assert (signed["parcel_id"], signed["stars"]) == ("a", 5)
    assert [row["stars"] for row in kit.rows(STARS)] == [5]


def test_records_keep_their_key_timestamp_and_headers() -> None:
    kit = Harness(views=[CARRIERS])
    kit.send(AIR, parcel(0), key=b"k", timestamp_ms=0, headers=(("trace", b"\xff"),))
    (refused,) = kit.records("test.quarantine")
    assert (refused.key, refused.headers[0]) == (b"k", ("trace", b"\xff"))
    (told,) = kit.quarantined
    assert (told.topic, told.partition, told.offset, told.reason) == (AIR, 0, 0, "skewed")


def test_the_marker_tells_the_ledgers() -> None:
    kit = Harness(views=[CARRIERS])
    kit.send(AIR, parcel(0))
    kit.send_bytes(AIR, None)
    position = kit.marker().inputs[AIR]
    assert (position.next_offset, position.decoded, position.quarantined) == (2, 1, 1)
    assert json.loads(json.dumps(kit.marker().next_offsets))[AIR] == 2


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"row": [1 << 63] * len(HUB_LOAD.cells)}, "unreadable"),
        ({"group": [1 << 63], "expected": None}, "unreadable"),
        ({"window_start_us": 1 << 63, "expected": None}, "unreadable"),
        ({"window_start_us": -(1 << 63), "expected": None}, "unreadable"),
        ({"window_start_us": True, "expected": None}, "unreadable"),
        ({"window_start_us": START_US - 600_000_000 + 1, "expected": None}, "unreadable"),
        ({"group": [-(1 << 63)], "expected": None}, "unreadable"),
    ],
    ids=["cells", "group", "window", "window before time", "flag", "between two panes", "null's number"],
)
def test_a_correction_of_what_cannot_be_is_refused_and_stops_nothing(changed: dict[str, object], why: str) -> None:
    kit = Harness(views=[HUB_LOAD])
    kit.send(AIR, parcel(0, hub=1))
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 35 * MINUTE_US)
    ((key, cells),) = kit.cells(HUB_LOAD).items()
    right = {
        "run": "r",
        "view": HUB_LOAD.name,
        "version": HUB_LOAD.version,
        "window_start_us": key.window_start_us,
        "group": list(key.group),
        "expected": list(cells),
        "row": [cell + 1 for cell in cells],
    }
    outcome = kit.correct(right | changed)
    assert (outcome["outcome"], outcome["why"]) == ("refused", why)
    assert kit.cells(HUB_LOAD) == {key: cells}
    assert kit.correct(right)["outcome"] == "applied"


def test_a_correction_is_applied_to_a_row_that_can_no_longer_change() -> None:
    kit = Harness(views=[CARRIERS, HUB_LOAD])
    kit.send(AIR, parcel(0, hub=1))
    ((key, cells),) = kit.cells(HUB_LOAD).items()
    corrected = (2, *cells[1:])
    told = {
        "run": "r",
        "view": HUB_LOAD.name,
        "version": HUB_LOAD.version,
        **key._asdict(),
        "expected": cells,
        "row": corrected,
    }
    assert kit.correct(told)["why"] == "open"
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, START_US + 35 * MINUTE_US)
    assert kit.correct(told)["outcome"] == "applied"
    assert kit.correct(told)["why"] == "moved_on"
    kit.restart()
    assert kit.cells(HUB_LOAD) == {key: corrected}
