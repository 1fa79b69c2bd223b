"""Records that were refused are added by corrections: once, whoever asks how often and in whatever order."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base import names
from app.codecs.stored.corrections import correction_bytes, read_outcome
from app.domain.corrections.corrected import Applied, fold_corrections
from app.domain.corrections.correction import Correction
from app.domain.corrections.refeed import Fed, Left, Plan, ViewStanding, plan_refeed
from app.domain.oracle.view_fold import fold
from app.domain.records import Place, Record
from app.domain.rows import RowKey
from app.domain.view import View
from app.testkit.encoding import filled
from app.testkit.harness import Harness
from app.testkit.simulation.parcels import CARRIERS, MINUTE_US, PARCELS, ROUNDS
from app.testkit.simulation.parcels import HUB_LOAD as SOON_GONE
from app.testkit.simulation.samples import START_US

AIR, ROAD = "parcels.air", "parcels.road"
HUB_LOAD = replace(SOON_GONE, retention_seconds=30 * 86_400)
END_US = START_US + 600 * MINUTE_US

minutes = st.lists(st.integers(0, 200), min_size=4, max_size=20)


def parcel(minute: int, **values: object) -> dict[str, object]:
    return {"parcel_id": f"p{minute}", "scanned_at_us": START_US + minute * MINUTE_US, "hub": minute % 3 + 1, **values}


def closed(kit: Harness) -> Harness:
    for topic in (AIR, ROAD):
        kit.advance_watermark(topic, END_US)
    return kit


def fed(given: Sequence[int], view: View = HUB_LOAD) -> Harness:
    """A harness that has folded parcels of these minutes, in this order, and closed their windows."""
    kit = Harness(views=[view])
    for minute in given:
        kit.send(AIR, parcel(minute, weight_grams=minute))
    return closed(kit)


def late_records(kit: Harness) -> list[Fed]:
    return [Fed(Record(one.topic, one.partition, one.offset, 0, one.values), True) for one in kit.late]


def outcomes(kit: Harness) -> list[Applied]:
    told = filter(None, (read_outcome(record.value) for record in kit.records(names.corrected_topic("test"))))
    return [Applied(one.partition, one.offset, one.correction) for one in told if one.why is None]


def standing(kit: Harness, view: View = HUB_LOAD) -> ViewStanding:
    added = frozenset(place for one in outcomes(kit) for place in one.correction.adds)
    return ViewStanding(kit.marker(), kit.cells(view), added)


def planned(kit: Harness, records: Sequence[Fed], view: View = HUB_LOAD) -> Plan:
    return plan_refeed(view, standing(kit, view), records, "run")


def send(kit: Harness, corrections: Sequence[Correction]) -> list[str | None]:
    """What became of each."""
    return [kit.correct(json.loads(correction_bytes(one)))["why"] for one in corrections]


def with_all(given: Sequence[int]) -> dict[RowKey, tuple[int, ...]]:
    """The rows had no parcel been late: each is folded as if it stood alone, behind no watermark."""
    rows: dict[RowKey, tuple[int, ...]] = {}
    for offset, minute in enumerate(given):
        values = filled(PARCELS, parcel(minute, weight_grams=minute))
        record = Record(AIR, 0, offset, (START_US + minute * MINUTE_US) // 1000, values)
        for key, cells in fold(HUB_LOAD, [record]).rows[0].items():
            rows[key] = HUB_LOAD.merge(rows.get(key, HUB_LOAD.neutral), cells)
    return rows


@given(minutes)
def test_rows_are_those_of_all_records_once_the_late_ones_are_fed_again(given: list[int]) -> None:
    kit = fed(given)
    plan = planned(kit, late_records(kit))
    assert send(kit, plan.corrections) == [None] * len(plan.corrections)
    assert kit.cells(HUB_LOAD) == with_all(given)
    assert sum(len(one.adds) for one in plan.corrections) == len(kit.late)


@given(minutes, st.randoms(use_true_random=False), st.integers(2, 4))
def test_plans_made_at_once_sent_in_any_order_and_again_never_double_a_record(
    given: list[int], rng: random.Random, planners: int
) -> None:
    kit = fed(given)
    late = late_records(kit)
    chosen = [rng.sample(late, rng.randint(0, len(late))) for _ in range(planners)]
    sent = [one for some in chosen for one in planned(kit, some).corrections]
    sent += [one for one in sent if rng.random() < 0.5]
    rng.shuffle(sent)
    send(kit, sent)
    added = [place for one in outcomes(kit) for place in one.correction.adds]
    assert len(set(added)) == len(added)
    while (plan := planned(kit, late)).corrections:
        send(kit, plan.corrections)
    assert kit.cells(HUB_LOAD) == with_all(given)
    assert {one.why for one in plan.not_added} <= {Left.ALREADY_ADDED}


@given(minutes)
def test_a_worker_killed_in_between_changes_nothing_of_it(given: list[int]) -> None:
    kit = fed(given)
    late = late_records(kit)
    for one in late:
        send(kit, planned(kit, [one]).corrections)
        kit.restart(compact=True)
        assert [left.why for left in planned(kit, [one]).not_added] == [Left.ALREADY_ADDED]
    assert kit.cells(HUB_LOAD) == with_all(given)


@given(minutes)
def test_source_records_and_corrections_folded_naively_are_the_tables_rows(given: list[int]) -> None:
    kit = fed(given)
    before = {(0, key): cells for key, cells in kit.cells(HUB_LOAD).items()}
    for one in late_records(kit):
        send(kit, planned(kit, [one]).corrections)
    assert fold_corrections(HUB_LOAD, before, outcomes(kit)) == []
    assert {key: cells for (_, key), cells in before.items()} == kit.cells(HUB_LOAD)


HEAVIEST = HUB_LOAD.cells.index("heaviest")


@pytest.mark.parametrize("heaviest", [1, 3, 9])
def test_what_was_added_to_a_row_that_was_wrong_is_added_to_the_right_one_unless_that_cannot_be_told(
    heaviest: int,
) -> None:
    """Where the wrong row had a greater value than any, what the record's is cannot be told from the two."""
    kit = fed([2, 100, 5])
    (correction,) = planned(kit, late_records(kit)).corrections
    wrong, right = list(correction.expected or ()), correction.expected
    wrong[HEAVIEST] = heaviest
    became = [max(heaviest, 5) if at == HEAVIEST else cell for at, cell in enumerate(correction.row or ())]
    one = Applied(0, 0, replace(correction, expected=tuple(wrong), row=tuple(became)))
    rows = {(0, correction.key): right}
    unfitting = fold_corrections(HUB_LOAD, rows, [one])  # type: ignore[arg-type]
    assert (unfitting, rows) == (([one], {(0, correction.key): right}) if heaviest == 9 else ([], with_row(correction)))


def with_row(correction: Correction) -> dict[tuple[int, RowKey], object]:
    return {(0, correction.key): correction.row}


def test_a_record_that_was_added_is_not_added_by_another_correction() -> None:
    kit = fed([0, 100, 1])
    (correction,) = planned(kit, late_records(kit)).corrections
    rows = {(0, key): cells for key, cells in kit.cells(HUB_LOAD).items()}
    again = Applied(0, 1, correction)
    assert fold_corrections(HUB_LOAD, rows, [Applied(0, 0, correction), again]) == [again]
    assert rows[0, correction.key] == correction.row


@pytest.mark.parametrize(
    "adds",
    [
        [["parcels.air", 0, 0]],
        [["parcels.air", 1, 2]],
        [["parcels.road", 0, 2]],
        [["elsewhere", 0, 2]],
        [["parcels.air", 0, 2], ["parcels.air", 0, 2]],
        [["parcels.air", 0, 2], ["parcels.air", 0, 1]],
    ],
    ids=["another record", "another task", "another topic", "no topic of the view", "named twice", "one too many"],
)
def test_a_correction_whose_row_is_not_what_it_adds_is_refused(adds: list[list[object]]) -> None:
    kit = fed([0, 100, 1])
    (correction,) = planned(kit, late_records(kit)).corrections
    before, document = kit.cells(HUB_LOAD), json.loads(correction_bytes(correction))
    assert kit.correct(document | {"adds": adds})["why"] == "miscounted"
    assert kit.cells(HUB_LOAD) == before
    assert kit.correct(document)["outcome"] == "applied"


def test_a_window_that_may_still_change_is_left_alone_until_it_is_closed_everywhere() -> None:
    kit = Harness(views=[HUB_LOAD])
    for minute in (0, 100, 1):
        kit.send(AIR, parcel(minute))
    late = late_records(kit)
    assert [left.why for left in planned(kit, late).not_added] == [Left.OPEN]
    closed(kit)
    assert send(kit, planned(kit, late).corrections) == [None]


def test_a_row_that_has_left_the_table_is_not_made_again() -> None:
    kit = fed([0, 100, 1], SOON_GONE)
    assert [left.why for left in planned(kit, late_records(kit), SOON_GONE).not_added] == [Left.EXPIRED]


def test_all_time_views_and_sessions_are_left_in_words() -> None:
    for view, why in ((CARRIERS, Left.ALL_TIME), (ROUNDS, Left.MERGING)):
        kit = fed([0, 100], view)
        record = Record(AIR, 0, 1, 0, filled(PARCELS, parcel(100)))
        assert [left.why for left in planned(kit, [Fed(record, False)], view).not_added] == [why]


def test_a_quarantined_record_is_added_once_it_can_be_read() -> None:
    kit = Harness(views=[HUB_LOAD])
    kit.send(AIR, parcel(0))
    offset = kit.send_bytes(AIR, b"\x01damaged")
    closed(kit)
    assert [one.offset for one in kit.quarantined] == [offset]
    mended = Fed(Record(AIR, 0, offset, 0, filled(PARCELS, parcel(3, weight_grams=5))), False)
    assert send(kit, planned(kit, [mended]).corrections) == [None]
    assert [row["parcels"] for row in kit.rows(HUB_LOAD)] == [2]
    assert [left.why for left in planned(kit, [mended]).not_added] == [Left.ALREADY_ADDED]


def test_a_view_that_counted_more_than_its_task_decoded_may_hold_a_quarantined_record() -> None:
    kit = fed([0, 100])
    now = standing(kit)
    record = Record(AIR, 0, 1, 0, filled(PARCELS, parcel(3)))
    position = now.marker.views[HUB_LOAD.name]
    fates = position.fates[AIR].plus(position.fates[AIR])
    assert fates.total == 4
    now.marker.views[HUB_LOAD.name] = replace(position, fates={AIR: fates})
    plan = plan_refeed(HUB_LOAD, now, [Fed(record, False)], "run")
    assert [left.why for left in plan.not_added] == [Left.OTHER_LEDGER]


def test_many_records_of_one_row_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.domain.corrections.refeed.ADDED_AT_ONCE", 2)
    kit = fed([0, 100, 3, 6, 9])
    plan = planned(kit, late_records(kit))
    assert [len(one.adds) for one in plan.corrections] == [2, 1]
    assert send(kit, plan.corrections) == [None] * 2
    assert kit.cells(HUB_LOAD) == with_all([0, 100, 3, 6, 9])


def test_late_records_name_the_version_of_the_view_that_refused_them() -> None:
    kit = fed([0, 100, 1])
    (told,) = kit.records(names.late_topic("test"))
    assert dict(told.headers)["flagfall-versions"].decode() == HUB_LOAD.version
    assert kit.late[0][:3] == Place(AIR, 0, 2)
