"""The benchmark's report: spreads, ratios, and what is run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.stream.figures import PEERS, READERS, Result, Results, ratios, report, spread
from benchmarks.stream.measure import SignalLog, interpolated
from benchmarks.stream.system import digest
from benchmarks.stream.systems import SYSTEMS, Worker

pytestmark = pytest.mark.unit

ONE = Result(
    data_set="sparse",
    data_set_rides=1_000,
    system="worker",
    version="a",
    commit="c",
    run=1,
    at="2026-11-21T00:00:00+00:00",
    rides=1_000,
    rows=500,
    changelog_records=510,
    seconds=2.0,
    cpu_seconds=1.0,
    seconds_from_start=4.0,
    cpu_seconds_from_start=3.0,
)


def runs(system: str, seconds: float, cpu_seconds: float) -> list[Result]:
    return [replace(ONE, system=system, seconds=seconds * s, cpu_seconds=cpu_seconds) for s in (1, 1.25, 0.5)]


def test_a_spread_is_median_minimum_and_maximum() -> None:
    assert spread([3.0, 1.0, 7.0], 1) == {"median": 3.0, "min": 1.0, "max": 7.0}
    assert spread([1.4, 2.6], 0) == {"median": 2, "min": 1, "max": 3}


def test_ratios_are_the_workers_speed_by_the_peers_and_its_processor_time_by_the_cheaper_readers() -> None:
    told = report(
        {
            "worker": runs("worker", 2.0, 1.0),
            "worker_five_views": runs("worker_five_views", 4.0, 2.5),
            "kafka_streams_memory": runs("kafka_streams_memory", 10.0, 9.0),
            "reader_aiokafka": runs("reader_aiokafka", 1.0, 0.5),
            "reader_confluent": runs("reader_confluent", 1.0, 0.25),
            "stock_faust": [],
        },
        0.5,
    )
    assert told["ratio_kafka_streams_memory"] == 5.0
    assert told["cpu_ratio_floor"] == 4.0
    assert told["cpu_ratio_five_views"] == 2.5
    assert told["time_ratio_five_views"] == 2.0
    assert told["rows_per_ride"] == 0.5
    assert told["systems"]["worker"]["rides_per_second"] == {"median": 500, "min": 400, "max": 1000}
    assert told["systems"]["worker"]["changelog_records_per_ride"]["median"] == 0.51


def test_the_fastest_peer_is_named_and_the_fastest_of_kafka_streams_exactly_once() -> None:
    """Of the systems that keep rows: a reader is no peer, and at least once is another guarantee."""
    peers = {name: runs(name, 12.0, 9.0) for name in PEERS}
    told = report(
        {
            **peers,
            "worker": runs("worker", 2.0, 1.0),
            "kafka_streams_memory": runs("kafka_streams_memory", 10.0, 9.0),
            "kafka_streams_memory_at_least_once": runs("kafka_streams_memory_at_least_once", 8.0, 9.0),
            "flink_heap": runs("flink_heap", 5.0, 9.0),
            "reader_confluent": runs("reader_confluent", 1.0, 0.25),
        },
        0.5,
    )
    assert (told["best_peer"], told["ratio_best_peer"]) == ("flink_heap", 2.5)
    assert (told["best_kafka_streams_eos"], told["ratio_kafka_streams_eos"]) == ("kafka_streams_memory", 5.0)


def test_none_is_called_the_fastest_of_systems_that_did_not_all_run() -> None:
    there = {name: runs(name, 4.0, 1.0) for name in ("worker", *PEERS, *READERS)}
    all_ran = report(there, 0.5)
    for missing, words in {
        "flink_heap": {"best_peer", "ratio_best_peer"},
        "kafka_streams_memory": {"best_peer", "ratio_best_peer", "best_kafka_streams_eos", "ratio_kafka_streams_eos"},
        "reader_confluent": {"cpu_ratio_floor"},
    }.items():
        told = report({**there, missing: []}, 0.5)
        assert set(all_ran) - set(told) == words | ({f"ratio_{missing}"} & set(all_ran))


def test_every_system_that_keeps_rows_and_is_not_the_worker_is_a_peer() -> None:
    """One that is missing there would have no ratio."""
    keeping = [name for name, system in SYSTEMS.items() if system.views and not isinstance(system, Worker)]
    assert keeping == list(PEERS)


def test_a_system_without_a_run_has_no_ratio() -> None:
    assert "ratio_stock_faust" not in report({"worker": [ONE], "stock_faust": []}, 0.5)
    assert ratios({}) == {}


def test_runs_are_found_again_by_data_set_size_and_version(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "runs.jsonl"
    Results(path).add(ONE)
    found = Results(path)
    assert found.of("sparse", 1_000, "worker", "a") == [ONE]
    assert found.of("dense", 1_000, "worker", "a") == []
    assert found.of("sparse", 2_000, "worker", "a") == []
    assert found.of("sparse", 1_000, "worker", "b") == []


def test_forgotten_runs_are_gone_from_the_file(tmp_path: Path) -> None:
    results = Results(tmp_path / "runs.jsonl")
    kept = replace(ONE, data_set="dense")
    for one in (ONE, kept):
        results.add(one)
    results.forget(["sparse"], ["worker"])
    assert Results(tmp_path / "runs.jsonl").of("sparse", 1_000, "worker", "a") == []
    assert Results(tmp_path / "runs.jsonl").of("dense", 1_000, "worker", "a") == [kept]


def test_a_changed_program_has_another_version(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("one")
    before = digest(tmp_path, "memory")
    assert digest(tmp_path, "memory") == before != digest(tmp_path, "rocksdb")
    program.write_text("two")
    assert digest(tmp_path, "memory") != before


def test_what_a_run_compiles_beside_the_sources_makes_no_other_version(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("1")
    before = digest(tmp_path)
    compiled = tmp_path / "__pycache__"
    compiled.mkdir()
    for name in ("module.cpython-311.pyc", "module.kernel-1.py311.1.nbc", "module.kernel-1.py311.nbi"):
        (compiled / name).write_text("2")

    assert digest(tmp_path) == before


def test_signals_are_read_line_by_line_and_the_first_of_a_name_counts(tmp_path: Path) -> None:
    """A half-written line is left until it is whole; what else a program prints is passed over."""
    path = tmp_path / "system.log"
    path.write_text("warming up\nBENCH first_record 12.5\nBENCH last_com")
    log = SignalLog(path)
    assert log.read() == {"first_record": 12.5}
    with path.open("a") as file:
        file.write("mit 20.0\nBENCH first_record 13.0\n")
    assert log.read() == {"first_record": 12.5, "last_commit": 20.0}


@pytest.mark.parametrize(
    ("moment", "seconds"), [(0.0, 1.0), (10.0, 1.0), (10.5, 2.0), (11.0, 3.0), (13.0, 3.5), (99.0, 4.0)]
)
def test_processor_time_between_two_looks_is_taken_in_proportion(moment: float, seconds: float) -> None:
    assert interpolated([10.0, 11.0, 15.0], [1.0, 3.0, 4.0], moment) == seconds
