"""What a stream, a file or a server holds is printed as text: no markup, and no command to the terminal."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base import asking, worker_door
from app.base.files.verdicts import Verdict
from app.base.printable import printable
from app.base.terminal import Terminal
from app.domain import difference as d
from app.domain.naming.row_difference import RowDifference
from app.domain.rows import RowKey
from app.edge.cli import main
from app.edge.cli.batch.spark import steps_shown
from app.edge.cli.common import echo_table
from app.edge.cli.demo.screens import Steps
from app.rides.views import VENDOR_TRIPS
from spark_batch.findings.report import Report
from spark_batch.findings.shown.report import show
from spark_batch.findings.view_report import ViewReport

HOSTILE = "[/x]\x1b[31m\x07\nMATCH\u202e\x9b[bold red]:smile:"
SHOWN = "[/x]␛[31m␇␊MATCH\ufffd\ufffd[bold red]:smile:"


def answer(vendor: str) -> dict[str, Any]:
    row = {"window": None, "group": {"vendor": vendor}, "measures": {"trips": 1}, "state": "open", "fingerprint": "f"}
    zones = {"topic": "zones", "why": vendor}
    missing = [{"partition": 1, "why": vendor}]
    return {
        "data": [row],
        "meta": {"as_of": None, "held_back_by": [], "missing": missing, "zones": zones, "next_cursor": None},
    }


@pytest.mark.parametrize("columns", ["200", "20"], ids=["table", "blocks"])
def test_a_query_prints_a_vendor_literally_whatever_it_holds(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    told_by_worker = asking.Answer("http://worker", 200, json.dumps(answer(HOSTILE)).encode())
    monkeypatch.setattr(worker_door, "get", lambda *_, **__: told_by_worker)
    assert main.run(["query", "vendor_trips", "--worker", "http://worker"]) == 0
    told = capsys.readouterr().out
    assert SHOWN.replace(" ", "") in told.replace("\n", "").replace(" ", "")
    assert not set(told) & set("\x1b\x07\x9b\u202e")


def test_a_mismatch_with_hostile_text_is_shown_as_a_mismatch() -> None:
    """Its exit code comes after: an error on the way would make it a crash."""
    row = d.ComparedRow(0, RowKey(None, (HOSTILE,)), (1, 1, 0), (1, 1, 0), None)
    one = RowDifference(d.DifferenceKind.LOST, row, ("trips",))
    report = Report("r1", "flagfall", datetime(2026, 1, 5, tzinfo=UTC), {}, Verdict.MISMATCH, reason=HOSTILE)
    report.views = [ViewReport(VENDOR_TRIPS, (), 1, 1, 1, 1, 1, [one], ())]
    file = StringIO()
    show(report, Path("folder"), Terminal(file=file, width=200, force_terminal=True))
    told = file.getvalue()
    assert f"vendor {SHOWN}: not applied" in told
    assert not set(told) & set("\x07\x9b\u202e")
    assert "\x1b[31m\u2407" not in told
    assert "\x1b[1;31mMISMATCH" in told, "our own colours are colours"


def test_steps_tables_and_errors_are_printed_literally(capsys: pytest.CaptureFixture[str]) -> None:
    with Steps(Terminal()).step("of [/x]"), steps_shown(quiet=False) as step, step("of [/y]"):
        pass
    echo_table(("VALUE",), [(HOSTILE,)])
    told = capsys.readouterr()
    assert "▸ of [/x]" in told.out
    assert "✓ of [/y]" in told.err
    assert SHOWN in told.out


@given(st.text())
def test_nothing_printable_steers_a_terminal(text: str) -> None:
    shown = printable(text)
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in shown)
    assert len(shown) == len(text)
    assert [a for a, b in zip(text, shown, strict=True) if a.isprintable() and a != b] == []
