"""The reconciliation on a real broker and registry: it agrees when all is right, and names what a test has spoilt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base.files.verdicts import Verdict
from app.base.names import advances_topic
from app.base.settings import Settings
from app.domain.advance import Advance
from app.domain.oracle.view_fold import fold
from app.domain.records import Reason
from tests.support.material.histories import START_US
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.world import new_world
from tests.support.material.stored.written import (
    write_advance,
    write_junk,
    write_poison,
    write_random_rides,
    write_refused,
)
from tests.support.material.views import DAYS, HOPPING, SHIFTED, UNEVEN
from tests.support.reconciled import (
    COUNT,
    FARE,
    SEED,
    TIP,
    Spoilt,
    check,
    known_too_late,
    poison,
    shift_fates,
    shift_ledger,
    spoil,
)

DAY_US = 86_400_000_000
BEYOND_US = START_US * 1000
"""What comes of nanoseconds where microseconds were meant."""
LEDGER = ("decoded", "quarantined", "not_records", "applied", "late")


@pytest.fixture(scope="module")
def right(services: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoilt]:
    """Nothing is wrong, but everything odd has happened: poison of every kind, aborted transactions, advances, junk."""
    with new_world(services) as world:
        write_random_rides(world, SEED, COUNT)
        write_poison(world, poison(world), START_US // 1000)
        write_refused(world, write_poison(world, known_too_late(world), START_US // 1000), Reason.UNKNOWN_SCHEMA)
        write_advance(world, Advance(world.source.topics[0].name, 0, 40, START_US + 2 * DAY_US))
        write_advance(world, Advance(world.source.topics[0].name, 1, 40, BEYOND_US), obeyed=False)
        write_junk(world, advances_topic(world.settings.app_id))
        fold_tasks(world)
        yield Spoilt(world, {}, check(world, spark, tmp_path_factory.mktemp("right")))


@pytest.fixture(scope="module")
def spoilt(services: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoilt]:
    """One fault of each kind, each in a row of its own, and one ledger that is off."""
    with new_world(services) as world:
        write_random_rides(world, SEED, COUNT)
        fold_tasks(world)
        places = spoil(world)
        shift_ledger(world, world.source.topics[0].name, decoded=-1, quarantined=+1)
        shift_fates(world, world.source.topics[0].name, -1)
        yield Spoilt(world, places, check(world, spark, tmp_path_factory.mktemp("spoilt")))


def test_tables_that_are_right_match(right: Spoilt) -> None:
    found = right.checked
    assert found.report.reason is None
    assert [e for view in found.report.views for e in view.ledger_faults] == []
    assert (found.report.verdict, found.report.verdict.exit_code) == (Verdict.MATCH, 0)
    assert (found.document["verdict"], found.document["residual"]) == ("MATCH", 0)
    view = right.world.view
    rows = sum(len(stored.live[view.name]) for stored in right.world.tasks.values())
    assert found.document["views"][0]["rows"] == {"live": rows, "changelog": rows, "recomputed": rows}


def test_every_record_below_the_cut_is_read_once_and_none_of_an_aborted_transaction(right: Spoilt) -> None:
    assert right.checked.document["records"] == len(right.world.records) + len(right.world.poisoned)


def test_a_right_table_was_not_an_empty_exercise(right: Spoilt) -> None:
    """Late records because of the advance, quarantined ones, gaps: all were there to be got wrong."""
    world = right.world
    assert len(fold(world.view, world.records, world.advances).late) > len(fold(world.view, world.records).late) > 0
    totals = {
        name: sum(e.recomputed for e in right.checked.report.views[0].ledger if e.name == name) for name in LEDGER
    }
    assert all(totals[name] > 0 for name in LEDGER)


def test_an_advance_that_no_record_can_have_brought_is_left_out(right: Spoilt) -> None:
    """An earlier release recorded such; the tables do not obey them, so neither does what is recomputed."""
    world = right.world
    assert not world.source.may_reach(BEYOND_US)
    obeyed = [*world.advances, Advance(world.source.topics[0].name, 1, 40, BEYOND_US)]
    assert len(fold(world.view, world.records, obeyed).late) > len(fold(world.view, world.records, world.advances).late)


def test_what_was_refused_for_an_unknown_schema_stays_so_and_is_told_of_once_it_could_be_used(right: Spoilt) -> None:
    assert right.checked.document["usable_today"] == len(known_too_late(right.world))


def test_differing_rows_and_ledgers_are_a_mismatch(spoilt: Spoilt) -> None:
    assert (spoilt.checked.report.verdict, spoilt.checked.report.verdict.exit_code) == (Verdict.MISMATCH, 10)
    assert spoilt.checked.document["views"][0]["differing_rows"] == len(spoilt.places)
    assert spoilt.checked.document["views"][1]["differing_rows"] == 0


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("lost", "LOST"), ("doubled", "DOUBLED"), ("late applied", "LATE_APPLIED"), ("store", "STORE")],
)
def test_one_record_too_many_or_too_few_is_named(spoilt: Spoilt, fault: str, kind: str) -> None:
    record, _ = spoilt.places[fault]
    one = spoilt.difference(fault)
    (named,) = one["records"]
    assert (one["class"], one["unexplained_cells"]) == (kind, [])
    assert (named["topic"], named["partition"], named["offset"]) == (record.topic, record.partition, record.offset)
    assert named["id"] == record.values["ride_id"]
    assert named["contribution"]["count"] == 1


def test_a_live_row_that_its_log_contradicts_is_the_stores_fault(spoilt: Spoilt) -> None:
    one = spoilt.difference("store")
    assert one["changelog"] == one["recomputed"] != one["live"]


def test_a_row_with_the_same_records_and_other_values_is_altered(spoilt: Spoilt) -> None:
    one = spoilt.difference("altered")
    assert (one["class"], one["cells"], one["records"]) == ("ALTERED", [spoilt.world.view.cells[FARE]], [])


def test_a_missing_row_lists_its_records_as_lost(spoilt: Spoilt) -> None:
    one = spoilt.difference("missing")
    assert (one["class"], one["live"], one["changelog"]) == ("LOST", None, None)
    assert one["record_count"] == len(one["records"]) == one["recomputed"]["count"]


def test_what_no_record_explains_is_residual(spoilt: Spoilt) -> None:
    assert spoilt.difference("made up")["class"] == "UNNAMED"
    one = spoilt.difference("lost and altered")
    assert (one["class"], one["unexplained_cells"]) == ("LOST", [spoilt.world.view.cells[TIP]])
    assert spoilt.checked.document["residual"] == 2


def test_a_ledger_that_differs_is_told_with_both_figures(spoilt: Spoilt) -> None:
    topic = spoilt.world.source.topics[0].name
    faults = [e for view in spoilt.checked.report.views for e in view.ledger_faults]
    assert {(e.topic, e.partition, e.name, e.recomputed - e.marker) for e in faults} == {
        (topic, 0, "decoded", 1),
        (topic, 0, "quarantined", -1),
        (topic, 0, "applied", 1),
    }


def test_only_reports_are_left_behind(spoilt: Spoilt) -> None:
    assert spoilt.checked.document["seconds"].keys() >= {"exports", "changelog", "read", "compare", "explain"}
    assert spoilt.checked.document["records_per_second"] > 0


def test_a_record_that_a_hopping_row_lost_is_named_with_its_pane_and_first_window(
    services: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    """Beside it calendar and shifted windows that are right."""
    with new_world(services, topics=1, views=(UNEVEN, DAYS, SHIFTED, HOPPING)) as world:
        write_random_rides(world, SEED, 60)
        fold_tasks(world)
        rows = world.tasks[0].changelog[UNEVEN.name]
        key = min(key for key, cells in rows.items() if cells[0] == 1)
        world.spoil_both(0, world.view, lambda table: table.pop(key))
        found = check(world, spark, tmp_path)
    assert [view["differing_rows"] for view in found.document["views"]] == [1, 0, 0, 0]
    (one,) = found.document["views"][0]["differences"]
    assert (one["class"], one["window_start_us"], one["record_count"]) == ("LOST", key.window_start_us, 1)
    assert one["group"] == {"first_window_us": key.group[0], "zone": key.group[1]}
    assert found.document["residual"] == 0
    assert [e for view in found.report.views for e in view.ledger_faults] == []
