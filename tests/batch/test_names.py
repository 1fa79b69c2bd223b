"""Many faults in one run, of every kind, in windows and for all time: each is named by exactly its records."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from app.base.settings import Settings
from app.codecs.stored.changelog import BlockKey, encode_block
from app.domain.difference import RowPlace
from app.domain.fingerprint import BLOCK_SIZE, unpack
from app.domain.naming.blocks import OffBlock
from app.domain.naming.claims import NOTHING_FITS
from app.domain.naming.narrowed import BLOCKS_AGREE
from app.domain.records import Record, TopicPartition
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.plants.faults import ANOTHER_TRANSLATOR, FAULTS, batch
from tests.plants.history import Table
from tests.plants.planting import by_blocks, said_of
from tests.plants.spoiling import Fault, Plant, planted
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.world import World, new_world
from tests.support.material.stored.written import write_many_rides
from tests.support.material.views import EVERYTHING, HOPPING, PAID
from tests.support.naming.plain import PlainEvidence, blocks_of
from tests.support.reconciled import Checked, check

MANY, FEW = 4000, 300
THOUSANDS, HUNDREDS = 2000, 300
NOT_APPLIED = 5
VIEWS = (ZONE_DEMAND, VENDOR_TRIPS, HOPPING, PAID, EVERYTHING)
MADE_UP = next(fault for fault in FAULTS if fault.name == "row made up")
OF_ROWS = [fault for fault in FAULTS if not fault.is_whole] * 12
FAULTS_OF: dict[str, Sequence[Fault]] = {
    ZONE_DEMAND.name: OF_ROWS,
    VENDOR_TRIPS.name: [batch("doubled", THOUSANDS)],
    HOPPING.name: [batch("lost", HUNDREDS)],
    PAID.name: [ANOTHER_TRANSLATOR],
    EVERYTHING.name: [MADE_UP] * 100,
}


@dataclass
class Spoilt:
    plants: dict[str, list[Plant]]
    checked: Checked


@pytest.fixture(scope="module")
def spoilt(services: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoilt]:
    rng = random.Random(3)
    with new_world(services, topics=2, views=VIEWS) as world:
        for topic in world.source.topics:
            for partition, count in enumerate((MANY, FEW)):
                write_many_rides(world, count, TopicPartition(topic.name, partition), count)
        fold_tasks(world)
        tables = {view.name: _table(world, view) for view in world.views}
        plants = {
            name: [one for fault in faults if (one := planted(rng, tables[name], fault)) is not None]
            for name, faults in FAULTS_OF.items()
        }
        for table in tables.values():
            _store(world, table)
        off = _with_blocks(world, tables[EVERYTHING.name])
        plants[EVERYTHING.name] = [by_blocks(plant, off) for plant in plants[EVERYTHING.name]]

        def translator(view: View, records: Sequence[Record]) -> Cells:
            return tables[view.name].evidence.translator(view, records)

        yield Spoilt(plants, check(world, spark, tmp_path_factory.mktemp("spoilt"), translator=translator))


@pytest.mark.parametrize("name", [view.name for view in VIEWS])
def test_what_is_said_is_what_was_planted(spoilt: Spoilt, name: str) -> None:
    expected = {one for plant in spoilt.plants.get(name, ()) for one in plant.said}
    (view,) = (view for view in spoilt.checked.report.views if view.view.name == name)
    assert set(said_of(view.differences)) == expected
    assert len(view.differences) == len(expected)
    assert view.residual == sum(one.is_residual for one in expected)
    assert {fault.name for fault in FAULTS_OF.get(name, ())} == {one.fault for one in spoilt.plants.get(name, ())}


@pytest.mark.parametrize(
    ("name", "kind", "least"), [(VENDOR_TRIPS.name, "DOUBLED", THOUSANDS), (HOPPING.name, "LOST", HUNDREDS)]
)
def test_a_batch_is_one_run_over_all_its_rows(spoilt: Spoilt, name: str, kind: str, least: int) -> None:
    (plant,) = spoilt.plants[name]
    records = sorted(origin for one in plant.said for origin, _ in one.changes)
    (view,) = (view for view in spoilt.checked.document["views"] if view["view"] == name)
    (run,) = view["runs"]
    assert len(records) >= least
    assert (run["class"], run["record_count"], run["row_count"]) == (kind, len(records), len(plant.said))
    assert (run["last_offset"] - run["first_offset"]) == records[-1] - records[0]
    assert max(len(one["records"]) for one in view["differences"]) <= 100
    assert sum(run["record_count"] for one in view["differences"] for run in one["runs"]) == len(records)


def test_a_row_of_no_record_is_the_stores_fault_where_its_task_applied_the_right_ones(spoilt: Spoilt) -> None:
    (view,) = (view for view in spoilt.checked.document["views"] if view["view"] == EVERYTHING.name)
    by_task = {one["partition"]: one for one in view["differences"]}
    assert (by_task[0]["class"], by_task[0]["why"], by_task[0]["blocks"]) == ("STORE", BLOCKS_AGREE, [])
    assert (by_task[1]["class"], by_task[1]["why"]) == ("UNNAMED", NOTHING_FITS)
    (block,) = by_task[1]["blocks"]
    assert (block["first_offset"], block["last_offset"], block["surplus"]) == (0, BLOCK_SIZE - 1, -NOT_APPLIED)


def _with_blocks(world: World, table: Table) -> Mapping[int, tuple[OffBlock, ...]]:
    """Blocks of a view beside its rows; by those of task 1 it left some records out."""
    times = table.evidence.times_applied()
    left_out = [origin for origin in times if unpack(origin).partition == 1][:NOT_APPLIED]
    table.evidence.blocks = blocks_of(times | dict.fromkeys(left_out, 0))
    for (number, task, block), (count, fingerprint) in table.evidence.blocks.items():
        key = BlockKey(table.view.number, table.view.version, number, block)
        world.tasks[task].blocks.append(encode_block(key, count, fingerprint))
    return table.evidence.off_blocks()


def _table(world: World, view: View) -> Table:
    live, logged = (
        {(task, key): cells for task, tables in held.items() for key, cells in tables[view.name].items()}
        for held in (
            {task: stored.live for task, stored in world.tasks.items()},
            {task: stored.changelog for task, stored in world.tasks.items()},
        )
    )
    evidence = PlainEvidence.of_log(view, world.records)
    return Table(view, evidence, evidence.rows, live, logged)


def _store(world: World, table: Table) -> None:
    for task, stored in world.tasks.items():
        stored.live[table.view.name] = _of(task, table.live)
        stored.changelog[table.view.name] = _of(task, table.changelog)


def _of(task: int, rows: dict[RowPlace, Cells]) -> dict[RowKey, Cells]:
    return {key: cells for (of, key), cells in rows.items() if of == task}
