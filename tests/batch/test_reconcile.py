"""The reconciliation on a real broker and registry: it agrees when all is right, and names what a test has spoilt."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from pyspark.sql import SparkSession

from app.base.files.verdicts import Verdict, read_latest
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.domain.advance import Advance
from app.domain.contribution import contribution, key_of
from app.domain.marker import OffsetRange
from app.domain.oracle.view_fold import fold
from app.domain.records import Reason, Record, with_derived
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.rides.views import VIEWS
from app.topics import source_topics
from spark_batch.findings.report import Report
from spark_batch.reconcile import reconcile
from tests.support.machine.left_running import await_nothing_left
from tests.support.machine.ports import free_ports
from tests.support.machine.services import running_services
from tests.support.machine.waiting import patient, wait_for
from tests.support.material.foreign_schemas import encode_as, foreign_ids
from tests.support.material.histories import START_US, encode
from tests.support.material.ride_versions import RIDE_VERSIONS
from tests.support.material.stored.world import Table, World, new_world, read_report, serving
from tests.support.material.views import DAYS, HOPPING, SHIFTED, UNEVEN

SEED, COUNT = 5, 120
DAY_US = 86_400_000_000
BEYOND_US = START_US * 1000
"""What comes of nanoseconds where microseconds were meant."""
FARE, TIP = 4, 6
"""Cells of the first view that are changed by hand."""
MADE_UP = RowKey(START_US, (3,))


@dataclass
class Checked:
    """A run's outcome, as object and as written."""

    report: Report
    document: dict[str, Any]

    def difference(self, partition: int, key: RowKey) -> dict[str, Any]:
        """The one difference of a row of the first view."""
        (found,) = (
            one
            for one in self.document["views"][0]["differences"]
            if (one["partition"], one["window_start_us"], one["group"]["zone"]) == (partition, key[0], key.group[0])
        )
        return dict(found)


class Rows:
    """Hands out rows of the first view, none twice."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._folded = fold(world.view, world.records, world.advances)
        self._used: set[tuple[int, RowKey]] = set()

    def applied(self, partition: int) -> tuple[Record, RowKey]:
        """An applied record whose row has others too."""
        for record in self._folded.applied:
            key = key_of(self._world.view, with_derived(self._world.source, record.values))
            assert key is not None
            if (
                record.partition == partition
                and self._folded.rows[partition][key][0] > 1
                and self._take(partition, key)
            ):
                return record, key
        raise AssertionError("the seed gives no such record")

    def late(self) -> tuple[Record, RowKey]:
        """A record that was late."""
        for record in self._folded.late:
            key = key_of(self._world.view, with_derived(self._world.source, record.values))
            if key is not None and self._take(record.partition, key):
                return record, key
        raise AssertionError("the seed gives no late record")

    def _take(self, partition: int, key: RowKey) -> bool:
        fresh = (partition, key) not in self._used
        self._used.add((partition, key))
        return fresh


@dataclass
class Spoilt:
    """Where each fault was put, and what the reconciliation said of them all."""

    world: World
    places: dict[str, tuple[Record, RowKey]]
    checked: Checked

    def difference(self, fault: str) -> dict[str, Any]:
        record, key = self.places[fault]
        return self.checked.difference(record.partition, key)


def check(world: World, spark: SparkSession, folder: Path, **options: Any) -> Checked:
    world.write_changelog()
    with serving(world, **options) as url:
        report = reconcile(world.settings, spark, world.views, worker_url=url, output=folder, work=folder / "work")
    return Checked(report, read_report(folder))


@contextmanager
def answering_never() -> Iterator[tuple[str, threading.Event]]:
    """The address of a server that takes requests and says nothing, and the sign that one has come."""
    came, ended = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            came.set()
            ended.wait()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", came
    finally:
        ended.set()
        server.shutdown()
        server.server_close()


def without(world: World, key: RowKey, record: Record) -> Cells:
    """The row as it would be had the record not been."""
    rest = [other for other in world.records if other is not record]
    return fold(world.view, rest, world.advances).rows[record.partition][key]


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with running_services(tmp_path_factory.mktemp("services")) as settings:
        yield settings


@pytest.fixture
def small_world(services: Settings) -> Iterator[World]:
    """A few rides written and folded; nothing stored yet."""
    with new_world(services, topics=1) as made:
        made.write_rides(SEED, 10)
        made.fold()
        yield made


@pytest.fixture(scope="module")
def right(services: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoilt]:
    """Nothing is wrong, but everything odd has happened: poison of every kind, aborted transactions, an advance."""
    with new_world(services) as world:
        world.write_rides(SEED, COUNT)
        world.write_poison(poison(world), START_US // 1000)
        world.write_refused(world.write_poison(known_too_late(world), START_US // 1000), Reason.UNKNOWN_SCHEMA)
        world.write_advance(Advance(world.source.topics[0].name, 0, 40, START_US + 2 * DAY_US))
        world.write_advance(Advance(world.source.topics[0].name, 1, 40, BEYOND_US), obeyed=False)
        world.fold()
        yield Spoilt(world, {}, check(world, spark, tmp_path_factory.mktemp("right")))


@pytest.fixture(scope="module")
def spoilt(services: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoilt]:
    """One fault of each kind, each in a row of its own, and one ledger that is off."""
    with new_world(services) as world:
        world.write_rides(SEED, COUNT)
        world.fold()
        places = spoil(world)
        shift_ledger(world, world.source.topics[0].name, decoded=-1, quarantined=+1)
        shift_fates(world, world.source.topics[0].name, -1)
        yield Spoilt(world, places, check(world, spark, tmp_path_factory.mktemp("spoilt")))


def spoil(world: World) -> dict[str, tuple[Record, RowKey]]:
    rows, view, name = Rows(world), world.view, world.view.name
    places = {}

    def both(fault: str, place: tuple[Record, RowKey], change: Callable[[Table, Record, RowKey], Any]) -> None:
        record, key = places[fault] = place
        world.spoil_both(record.partition, view, lambda table: change(table, record, key))

    def add(table: Table, record: Record, key: RowKey) -> None:
        table[key] = view.merge(table.get(key, view.neutral), contribution(view, record))

    both("late applied", rows.late(), add)
    both("doubled", rows.applied(1), add)
    both("lost", rows.applied(0), lambda table, record, key: table.update({key: without(world, key, record)}))
    both("missing", rows.applied(0), lambda table, record, key: table.pop(key))
    both("altered", rows.applied(1), lambda table, record, key: table.update({key: changed(table[key], FARE)}))
    both(
        "lost and altered",
        rows.applied(0),
        lambda table, record, key: table.update({key: changed(without(world, key, record), TIP)}),
    )
    both(
        "made up",
        (replace(world.records[0], partition=0), MADE_UP),
        lambda table, record, key: table.update({key: changed(view.neutral, 0, by=3)}),
    )
    record, key = places["store"] = rows.applied(0)
    world.tasks[0].live[name][key] = without(world, key, record)
    return places


def poison(world: World) -> list[bytes | None]:
    """Values that cannot be used, and one that is odd but legal."""
    head = b"\0" + world.schema_id.to_bytes(4, "big")
    good = encode(dict(world.records[0].values))[5:]
    text = good.index(b"\x40") + 1
    return [
        None,
        b"",
        head,
        b"\x07" + head[1:] + good,
        b"\0" + struct.pack(">I", 1 << 30) + good,
        head + good[:-1],
        head + good + b"\0",
        head + good[:text] + b"\xff" + good[text + 1 :],
        *(b"\0" + schema_id.to_bytes(4, "big") + good for schema_id in foreign_ids(world.settings).values()),
    ]


def known_too_late(world: World) -> list[bytes]:
    """Good rides whose schemas the registry is given after the workers met them: of the topic's subject, of another."""
    client, topic = SchemaRegistryClient({"url": world.settings.registry_url}), world.source.topics[0].name
    values = []
    for declared, subject in zip(RIDE_VERSIONS, (f"{topic}-value", f"{topic}-other"), strict=False):
        schema_id = client.register_schema(subject, Schema(json.dumps(declared), "AVRO"))
        values.append(encode_as(schema_id, declared, world.records[0].values))
    return values


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


LEDGER = ("decoded", "quarantined", "not_records", "applied", "late")


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


def test_a_ledger_that_does_not_add_up_is_invalid(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    world = small_world
    shift_ledger(world, world.source.topics[0].name, decoded=-1)
    found = check(world, spark, tmp_path)
    assert (found.report.verdict, found.report.verdict.exit_code) == (Verdict.INVALID, 12)
    assert f"{world.source.topics[0].name}-0" in str(found.report.reason)


def test_a_loss_that_was_accepted_leaves_no_verdict_and_is_named(
    small_world: World, spark: SparkSession, tmp_path: Path
) -> None:
    """Whatever the rows say: what they count from before the gap cannot be read any more."""
    world, topic = small_world, small_world.source.topics[0].name
    marker = world.tasks[0].marker
    at = marker.inputs[topic]
    gap = OffsetRange(at.start_offset, at.start_offset + 1)
    told = replace(at, decoded=at.decoded - 1, lost=(gap,))
    world.tasks[0].marker = replace(marker, inputs=marker.inputs | {topic: told})
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.INCONCLUSIVE
    assert f"{topic}-0 [{gap.from_offset}, {gap.to_offset}): 1 offsets" in str(found.report.reason)


def test_a_record_that_a_hopping_row_lost_is_named_with_its_pane_and_first_window(
    services: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    """Beside it calendar and shifted windows that are right."""
    with new_world(services, topics=1, views=(UNEVEN, DAYS, SHIFTED, HOPPING)) as world:
        world.write_rides(SEED, 60)
        world.fold()
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


def test_a_cut_beyond_the_logs_end_is_invalid(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    world = small_world
    shift_ledger(world, world.source.topics[0].name, next_offset=+1000, not_records=+1000)
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.INVALID
    assert "the log ends at" in str(found.report.reason)


def test_a_topic_that_was_made_again_is_invalid(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    world = small_world
    name = world.source.topics[0].name
    for partition in (0, 1):
        marker = world.tasks[partition].marker
        other = replace(marker.inputs[name], topic_id="AAAAAAAAAAAAAAAAAAAAAA")
        world.tasks[partition].marker = replace(marker, inputs=marker.inputs | {name: other})
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.INVALID
    assert f"{name}: the marker was written over topic id" in str(found.report.reason)


def test_a_registry_that_holds_another_schema_under_an_id_than_the_worker_read_by_is_invalid(
    small_world: World, spark: SparkSession, tmp_path: Path
) -> None:
    world = small_world
    for stored in world.tasks.values():
        stored.marker = stored.marker.with_schemas({"1": "0123456789abcdef"})
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.INVALID
    assert "schema id 1 was 0123456789abcdef, and is " in str(found.report.reason)


def test_a_marker_that_is_not_where_the_export_says_is_invalid(
    small_world: World, spark: SparkSession, tmp_path: Path
) -> None:
    world = small_world

    def elsewhere(view: View, partition: int) -> bytes:
        world.tasks[partition].changelog_offset -= 1
        return world.export(view, partition)

    found = check(world, spark, tmp_path, answer=elsewhere)
    assert found.report.verdict is Verdict.INVALID
    assert "says its marker is there" in str(found.report.reason)


def test_an_export_that_is_cut_short_is_inconclusive(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    world = small_world
    found = check(world, spark, tmp_path, answer=lambda view, p: world.export(view, p)[:-40])
    assert (found.report.verdict, found.report.verdict.exit_code) == (Verdict.INCONCLUSIVE, 11)


def changed(cells: Cells, at: int, *, by: int = 1) -> Cells:
    return (*cells[:at], cells[at] + by, *cells[at + 1 :])


def shift_ledger(world: World, topic: str, **changes: int) -> None:
    """Change figures of one input in the marker of task 0."""
    marker = world.tasks[0].marker
    position = marker.inputs[topic]
    told = replace(position, **{name: getattr(position, name) + by for name, by in changes.items()})
    world.tasks[0].marker = replace(marker, inputs=marker.inputs | {topic: told})


def shift_fates(world: World, topic: str, by: int) -> None:
    """Change how many records task 0 says that it applied, in every view."""
    marker = world.tasks[0].marker
    positions = dict(marker.views)
    for name, position in marker.views.items():
        told = replace(position.fates[topic], applied=position.fates[topic].applied + by)
        positions[name] = replace(position, fates=position.fates | {topic: told})
    world.tasks[0].marker = replace(marker, views=positions)


def test_without_a_broker_the_run_is_inconclusive(spark: SparkSession, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    settings = Settings.load(data_dir=tmp_path, kafka={"bootstrap_server": f"127.0.0.1:{port}"})
    report = reconcile(settings, spark, VIEWS, worker_url="http://127.0.0.1:1", output=tmp_path, work=tmp_path / "work")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert f"no broker answers at 127.0.0.1:{port}" in str(report.reason)


def test_without_a_worker_the_run_is_inconclusive(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    report = reconcile(
        small_world.settings, spark, small_world.views, worker_url=url, output=tmp_path, work=tmp_path / "work"
    )
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "is a worker running there?" in str(report.reason)


def test_a_run_that_is_told_to_end_while_it_copies_leaves_no_copies_and_no_process(
    services: Settings, tmp_path: Path
) -> None:
    create_topics(services.kafka, source_topics(services))
    settings = services.model_copy(update={"data_dir": tmp_path})
    runs = tmp_path / "runs"
    with answering_never() as (url, came), (tmp_path / "told").open("w") as told:
        command = [sys.executable, "-m", "app.edge.cli.main", "reconcile", "--worker", url, "--output", str(runs)]
        run = subprocess.Popen(command, stderr=told, env=os.environ | settings.environment())
        wait_for(lambda: came.is_set() or run.poll() is not None, "the run asks for the workers' rows")
        assert run.poll() is None, (tmp_path / "told").read_text()
        (work,) = (runs / "work").glob("run-*")
        assert {path.name for path in work.iterdir()} == {"owner.json", "copies", "spark"}
        run.terminate()
        assert run.wait(patient(60)) == 128 + signal.SIGTERM
    assert not work.exists()
    await_nothing_left(tmp_path)
    views = read_latest(runs).views.values()
    assert all(one.finished is None for one in views)
    assert views
