"""Which cases the benchmark of latency takes, and what is left of one that is stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.latency import __main__ as bench
from benchmarks.latency.__main__ import Case, parsed


def test_a_case_is_a_rate_and_maybe_tasks() -> None:
    assert parsed(["--cases", "1000", "20000x16"]).cases == [Case("1000", 1000, 4), Case("20000x16", 20_000, 16)]
    assert [case.name for case in parsed([]).cases] == ["1000", "20000"]


@pytest.mark.parametrize("case", ["x", "abc", "1000x0", "0", "-5", "1000x4x4", "1000x", "1e3"])
def test_what_is_no_case_is_refused_before_anything_runs(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parsed([f"--cases={case}"])
    assert refused.value.code == 2
    assert f"{case!r}: RATE or RATExTASKS is wanted, whole numbers from 1 on, as 20000 or 1000x16" in (
        capsys.readouterr().err
    )


def test_what_was_measured_before_a_run_is_stopped_is_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(rate: int, *_: Any) -> dict[str, Any]:
        if rate == 2:
            raise SystemExit(143)
        return {"rides": rate}

    monkeypatch.setattr(bench, "unwind_on_term", lambda: None)
    monkeypatch.setattr(bench, "idle", lambda _: {"idle_cpu": 0.1})
    monkeypatch.setattr(bench, "measured", measured)
    report = tmp_path / "deep" / "latency.json"
    with pytest.raises(SystemExit):
        bench.main(list(map(Case.named, ("1", "2"))), 25, "broker", report)
    assert json.loads(report.read_text()) == {"idle_cpu": 0.1, "1": {"rides": 1}}
