"""Runs of equal windows stand for a calendar's whole table of boundaries."""

from __future__ import annotations

import pytest

from app.domain.windows.boundaries import Unit, boundaries
from spark_batch.folds.calendar_runs import BUCKET_US, runs_of

ZONES = ["America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "Africa/Monrovia"]
FROM_1900_TO_2100_US = (-2_208_988_800_000_000, 4_102_444_800_000_000)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", Unit)
def test_runs_give_back_every_boundary_and_are_few(unit: Unit, zone: str) -> None:
    table = boundaries(unit, zone, *FROM_1900_TO_2100_US)
    runs = runs_of(table)
    columns = [runs[name].to_pylist() for name in ("run_start_us", "run_end_us", "run_length_us")]
    told = sorted(set(zip(*columns, strict=True)))
    assert [at for start, end, length in told for at in range(start, end, length)] == list(table.instants[:-1])
    assert told[-1][1] == table.instants[-1]
    assert runs.num_rows < 4_000


@pytest.mark.parametrize("unit", Unit)
def test_each_run_is_in_every_bucket_that_it_has_a_part_in_once(unit: Unit) -> None:
    runs = runs_of(boundaries(unit, "America/New_York", *FROM_1900_TO_2100_US)).to_pylist()
    told = sorted((run["run_start_us"], run["run_bucket"]) for run in runs)
    meant = {
        (run["run_start_us"], bucket * BUCKET_US)
        for run in runs
        for bucket in range(run["run_start_us"] // BUCKET_US, (run["run_end_us"] - 1) // BUCKET_US + 1)
    }
    assert told == sorted(meant)
