"""How a stage is run, and what is kept of it."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.gate.stages import Stage, run
from scripts.gate.tests_stage import keep_logs


def test_a_stage_is_tried_as_often_as_it_may_be(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    program = f"from pathlib import Path; p = Path({str(flag)!r}); there = p.exists(); p.touch(); exit(not there)"
    once = Stage("once", 1, (sys.executable, "-c", program))
    assert run(once, tmp_path).code == 1
    flag.unlink()
    assert run(Stage("twice", 1, once.command, attempts=2), tmp_path).code == 0


def test_a_stage_that_hangs_is_ended_though_its_children_hold_its_output(tmp_path: Path) -> None:
    program = "import subprocess, sys; print('began', flush=True); subprocess.run(['sleep', '600'])"
    ran = run(Stage("hangs", 1, (sys.executable, "-c", program), limit_seconds=1.0), tmp_path)
    assert ran.code < 0
    assert (tmp_path / "hangs.log").read_text() == "began\n"


def test_logs_are_kept_and_the_brokers_data_is_not(tmp_path: Path) -> None:
    for name in ("t/services0/logs/kafka.log", "t/test_a0/worker-1.log", "t/services0/kafka/data/rides.yellow-0/0.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    keep_logs(tmp_path / "t", tmp_path / "kept")
    kept = {path.relative_to(tmp_path / "kept").as_posix() for path in (tmp_path / "kept").rglob("*.log")}
    assert kept == {"services0/logs/kafka.log", "test_a0/worker-1.log"}
