"""From runs to the report: median, minimum and maximum of each system, and the ratios between them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

WORKER = "worker"
FIVE_VIEWS = "worker_five_views"
READERS = ("reader_aiokafka", "reader_confluent")
PEERS = (
    "kafka_streams_memory",
    "kafka_streams_memory_1s",
    "kafka_streams_rocksdb",
    "kafka_streams_memory_at_least_once",
    "kafka_streams_rocksdb_at_least_once",
    "flink_heap",
    "flink_exactly_once",
    "spark",
    "quix",
    "stock_faust",
)
"""What keeps rows as the worker does."""
KAFKA_STREAMS_EXACTLY_ONCE = ("kafka_streams_memory", "kafka_streams_memory_1s", "kafka_streams_rocksdb")


@dataclass(frozen=True)
class Result:
    """One run whose rows were equal to the recount (a reader has none). `version`: of what was run."""

    data_set: str
    data_set_rides: int
    system: str
    version: str
    commit: str
    run: int
    at: str
    rides: int
    rows: int
    changelog_records: int
    seconds: float
    cpu_seconds: float
    seconds_from_start: float
    cpu_seconds_from_start: float

    @property
    def rides_per_second(self) -> float:
        return self.rides / self.seconds

    @property
    def cpu_seconds_per_million(self) -> float:
        return self.cpu_seconds / self.rides * 1e6


class Results:
    """Every run so far, one JSON document a line: what is there need not be run again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._results = [Result(**json.loads(line)) for line in lines]

    def add(self, result: Result) -> None:
        self._results.append(result)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")

    def forget(self, data_sets: Collection[str], systems: Collection[str]) -> None:
        """Drop the runs of these systems on these data sets, from the file too."""
        self._results = [r for r in self._results if not (r.data_set in data_sets and r.system in systems)]
        if self._path.exists():
            self._path.write_text("".join(json.dumps(asdict(r)) + "\n" for r in self._results))

    def of(self, data_set: str, data_set_rides: int, system: str, version: str) -> list[Result]:
        """The runs of a system as it now is, over a data set of this size."""
        wanted = (data_set, data_set_rides, system, version)
        return [r for r in self._results if (r.data_set, r.data_set_rides, r.system, r.version) == wanted]


def spread(values: Iterable[float], digits: int) -> dict[str, float]:
    """Median, minimum and maximum."""
    ordered = sorted(values)
    found = {"median": median(ordered), "min": ordered[0], "max": ordered[-1]}
    return {name: round(value, digits) if digits else round(value) for name, value in found.items()}


def summary(runs: list[Result]) -> dict[str, Any]:
    """One system's figures. All of a run's time is counted, from its first record to its last commit."""
    return {
        "runs": len(runs),
        "rides": runs[0].rides,
        "rides_per_second": spread((r.rides_per_second for r in runs), 0),
        "cpu_seconds_per_million": spread((r.cpu_seconds_per_million for r in runs), 3),
        "rides_per_second_from_start": spread((r.rides / r.seconds_from_start for r in runs), 0),
        "cpu_seconds_per_million_from_start": spread((r.cpu_seconds_from_start / r.rides * 1e6 for r in runs), 3),
        "changelog_records_per_ride": spread((r.changelog_records / r.rides for r in runs), 3),
        "rows": runs[0].rows,
        "versions": sorted({r.version for r in runs}),
        "commits": sorted({r.commit for r in runs}),
    }


def report(systems: dict[str, list[Result]], changed_rows_per_ride: float) -> dict[str, Any]:
    """A data set's part of the report; a ratio, or a fastest, is left out while one of its systems has no run."""
    figures = {name: summary(runs) for name, runs in systems.items() if runs}
    best = {
        "best_peer": fastest(figures, PEERS),
        "best_kafka_streams_eos": fastest(figures, KAFKA_STREAMS_EXACTLY_ONCE),
    }
    return {
        "rows_per_ride": round(changed_rows_per_ride, 3),
        **{name: system for name, system in best.items() if system},
        **ratios(figures),
        "systems": figures,
    }


def fastest(figures: dict[str, dict[str, Any]], names: Collection[str]) -> str | None:
    """Of these systems the one with most rides per second; None unless each of them has a run."""
    return max(names, key=lambda name: _rate(figures[name])) if figures.keys() >= set(names) else None


def ratios(figures: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The worker against each peer, and the fastest of them all, by rides per second; against the cheaper reader by
    processor time, and so five views against one."""
    if WORKER not in figures:
        return {}
    rate = {name: _rate(one) for name, one in figures.items()}
    cpu = {name: one["cpu_seconds_per_million"]["median"] for name, one in figures.items()}
    found = {f"ratio_{name}": rate[WORKER] / rate[name] for name in PEERS if name in rate}
    if best := fastest(figures, PEERS):
        found["ratio_best_peer"] = rate[WORKER] / rate[best]
    if best := fastest(figures, KAFKA_STREAMS_EXACTLY_ONCE):
        found["ratio_kafka_streams_eos"] = rate[WORKER] / rate[best]
    if cpu.keys() >= set(READERS):
        found["cpu_ratio_floor"] = cpu[WORKER] / min(cpu[name] for name in READERS)
    if FIVE_VIEWS in cpu:
        found["cpu_ratio_five_views"] = cpu[FIVE_VIEWS] / cpu[WORKER]
        found["time_ratio_five_views"] = rate[WORKER] / rate[FIVE_VIEWS]
    return {name: round(value, 2) for name, value in found.items()}


def _rate(one: dict[str, Any]) -> float:
    median_rate: float = one["rides_per_second"]["median"]
    return median_rate


def table(told: dict[str, Any]) -> list[str]:
    """A data set's figures as lines for people."""
    head = f"{'':36}{'rides/s':>10}{'min':>10}{'max':>10}{'CPU-s/M':>10}{'changelog/ride':>16}{'runs':>6}"
    lines = [head]
    for name, one in told["systems"].items():
        rate, cpu = one["rides_per_second"], one["cpu_seconds_per_million"]["median"]
        written = one["changelog_records_per_ride"]["median"]
        lines.append(
            f"{name:36}{rate['median']:>10,}{rate['min']:>10,}{rate['max']:>10,}{cpu:>10.2f}{written:>16.3f}"
            f"{one['runs']:>6}"
        )
    lines += [f"{name} = {value}" for name, value in told.items() if name != "systems"]
    return lines
