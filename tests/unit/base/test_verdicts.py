"""`latest.json`: one entry a view, written by the reconciliation and read by page, metrics and status."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.base.files.held_alone import held_alone
from app.base.files.trail import Trail
from app.base.files.verdicts import LATEST, RUNS, LastVerdicts, LatestUnreadable, Verdict
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.domain.view import View
from app.domain.windows.scope import Scope
from app.edge.cli.tables.status import _checked, _verdict
from app.edge.http.context import Edge, ServedGroup
from app.edge.http.page.verdicts import NONE_YET, UNREADABLE, card
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.rides.views import VENDOR_TRIPS, VIEWS, ZONE_DEMAND
from spark_batch import reconcile
from spark_batch.errors import AnotherRun, Inconclusive, Invalid
from spark_batch.findings.report import Report, new_run_id
from spark_batch.findings.view_report import ViewReport
from spark_batch.reconcile import _broken_off, _of_history
from tests.support.material.stored.runs import NOON, verdicts_in, wrote
from tests.support.material.stored.tables import ready_directory

EARLY = NOON - timedelta(days=1)


def edge_of(data_dir: Path, *views: View, application: str = "flagfall") -> Edge:
    served = ServedGroup("rides", ready_directory([], partitions=1), views or VIEWS, (RIDES,))
    return Edge([served], verdicts_in(data_dir, application))


def run_that(fails_with: Exception, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise fails_with

    monkeypatch.setattr(reconcile, "_require_topics", fail)
    reconcile.reconcile(
        Settings.load(),
        nullcontext(),
        SHIPPED.groups,
        worker=WorkerDoor("http://nowhere"),
        output=output,
        work=output / "work",
    )


def test_a_run_of_one_view_leaves_the_verdicts_of_the_others(tmp_path: Path) -> None:
    wrote(tmp_path, {ZONE_DEMAND: 3, VENDOR_TRIPS: 0}, EARLY)
    wrote(tmp_path, {VENDOR_TRIPS: 1}, NOON)
    views = verdicts_in(tmp_path).read()
    found = {name: (one.finished.verdict, one.finished.residual) for name, one in views.items() if one.finished}
    assert found == {ZONE_DEMAND.name: (Verdict.MISMATCH, 3), VENDOR_TRIPS.name: (Verdict.MISMATCH, 1)}
    told = card(edge_of(tmp_path))
    assert told.headline == "MISMATCH"
    assert [note.text.split(" · ")[:2] for note in told.notes] == [
        ["vendor_trips MISMATCH", "1 unexplained rows"],
        ["zone_demand MISMATCH", "3 unexplained rows"],
    ]


def test_a_view_that_was_compared_has_its_own_verdict_whatever_stopped_the_run(tmp_path: Path) -> None:
    wrote(tmp_path, {ZONE_DEMAND: 0}, NOON, stopped=VENDOR_TRIPS)
    views = verdicts_in(tmp_path).read()
    verdicts = {name: (one.finished.verdict, one.finished.residual) for name, one in views.items() if one.finished}
    assert verdicts == {ZONE_DEMAND.name: (Verdict.MATCH, 0), VENDOR_TRIPS.name: (Verdict.INVALID, None)}
    assert card(edge_of(tmp_path)).headline == "INVALID"


def test_a_crashed_run_leaves_yesterdays_verdict_with_its_date_and_is_told_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrote(tmp_path, dict.fromkeys(VIEWS, 0), NOON)
    with pytest.raises(RuntimeError, match="crash"):
        run_that(RuntimeError("crash"), tmp_path / "reconciliation", monkeypatch)
    told = card(edge_of(tmp_path))
    assert (told.headline, len(told.notes)) == ("MATCH", 2)
    assert told.notes[0].text.startswith("0 unexplained rows · 2026-01-05 12:01 UTC · run ")
    assert told.notes[1].text.startswith("run 2")
    assert told.notes[1].text.endswith("and has not ended")
    of_view = verdicts_in(tmp_path).read()[ZONE_DEMAND.name]
    assert _verdict(of_view).startswith("MATCH at 2026-01-05 12:01 UTC; a run that began ")


def test_a_verdict_over_some_windows_says_which_wherever_it_is_told(tmp_path: Path) -> None:
    wrote(tmp_path, {ZONE_DEMAND: 0}, NOON, scope=Scope(0, 3_600_000_000))
    words = "windows from 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z"
    assert card(edge_of(tmp_path)).notes[0].text.startswith(f"{words} · 0 unexplained rows · ")
    assert _verdict(verdicts_in(tmp_path).read()[ZONE_DEMAND.name]).startswith(f"MATCH ({words}) at ")


def test_a_run_without_a_verdict_on_the_figures_says_so_of_every_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_that(Inconclusive("no broker"), tmp_path, monkeypatch)
    ended = [one.finished for one in LastVerdicts(tmp_path, "flagfall").read().values()]
    assert [(one.verdict, one.residual, one.reason) for one in ended if one] == [
        (Verdict.INCONCLUSIVE, None, "no broker")
    ] * len(VIEWS)
    assert all((tmp_path / one.report).is_file() for one in ended if one)


@pytest.mark.parametrize("lock", ["kept/flagfall/.lock", f"{RUNS}/.flagfall.lock"], ids=["history", "runs"])
def test_a_run_beside_another_is_refused_and_leaves_what_was_found_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    wrote(tmp_path, {ZONE_DEMAND: 3}, EARLY)
    before = verdicts_in(tmp_path).read()
    monkeypatch.setenv("FLAGFALL_HISTORY_DIR", str(tmp_path / "kept"))
    with held_alone(tmp_path / lock), pytest.raises(AnotherRun) as refused:
        run_that(Inconclusive("nothing is looked at"), tmp_path / RUNS, monkeypatch)
    assert (verdicts_in(tmp_path).read(), refused.value.exit_code) == (before, 11)
    assert not Trail(tmp_path / RUNS).file.exists()


def test_who_cannot_read_the_history_is_told_to_move_it_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAGFALL_HISTORY_DIR", str(tmp_path / "kept"))
    run_that(Inconclusive(f"{tmp_path / 'kept'} is broken"), tmp_path, monkeypatch)
    finished = LastVerdicts(tmp_path, "flagfall").read()[ZONE_DEMAND.name].finished
    assert finished is not None
    assert "It is of the history in" in str(finished.reason)
    assert "move its silver" in str(finished.reason)


def test_a_run_that_ends_after_a_later_one_ended_leaves_none_that_has_not(tmp_path: Path) -> None:
    end = wrote(tmp_path, {ZONE_DEMAND: 0}, EARLY, ends=False)
    wrote(tmp_path, {}, NOON, stopped=ZONE_DEMAND)
    end()
    one = verdicts_in(tmp_path).read()[ZONE_DEMAND.name]
    assert one.unfinished is None
    assert one.finished is not None
    assert one.finished.begun_at == EARLY


def test_the_cut_is_that_of_the_last_run_that_compared_the_view(tmp_path: Path) -> None:
    def cut() -> datetime | None:
        finished = verdicts_in(tmp_path).read()[ZONE_DEMAND.name].finished
        assert finished is not None
        return finished.cut_at

    wrote(tmp_path, {}, EARLY - timedelta(days=1), stopped=ZONE_DEMAND)
    assert cut() is None
    wrote(tmp_path, {ZONE_DEMAND: 3}, EARLY)
    assert cut() == EARLY
    wrote(tmp_path, {}, NOON, stopped=ZONE_DEMAND)
    assert cut() == EARLY


def test_a_run_that_is_broken_off_has_said_what_it_found(tmp_path: Path) -> None:
    """What it did not come to has the run's verdict; a difference that was found is not taken back."""
    report = Report(new_run_id(NOON), "flagfall", NOON, {})
    right, wrong = (
        ViewReport(view, (), 1, 1, 1, rows, 0, (), ()) for view, rows in ((ZONE_DEMAND, 0), (VENDOR_TRIPS, 1))
    )
    report.views = [right]
    assert _broken_off(report, Inconclusive("no memory")) == (Verdict.INCONCLUSIVE, "no memory")
    report.views = [right, wrong]
    assert _broken_off(report, Inconclusive("no memory")) == (Verdict.MISMATCH, "Not all was compared. no memory")
    assert _broken_off(report, Invalid("records are gone")) == (Verdict.INVALID, "records are gone")


def test_what_cannot_be_read_of_a_history_is_told_with_what_to_do() -> None:
    kept = Settings(history_dir=Path("/kept"))
    assert _of_history(kept, "Spark failed: file:/kept/flagfall/silver/x.parquet").startswith(
        ". It is of the history in"
    )
    assert _of_history(kept, "Spark failed: no memory") == _of_history(Settings(), "anything") == ""


def test_a_run_that_ends_after_a_later_one_began_does_not_hide_that(tmp_path: Path) -> None:
    end = wrote(tmp_path, {ZONE_DEMAND: 0}, EARLY, ends=False)
    wrote(tmp_path, {ZONE_DEMAND: 0}, NOON, ends=False)
    end()
    one = verdicts_in(tmp_path).read()[ZONE_DEMAND.name]
    assert one.unfinished is not None
    assert one.unfinished.begun_at == NOON
    assert one.finished is not None
    assert one.finished.begun_at == EARLY


def test_applications_of_one_data_directory_have_verdicts_of_their_own(tmp_path: Path) -> None:
    wrote(tmp_path, dict.fromkeys(VIEWS, 0), NOON)
    assert verdicts_in(tmp_path, "mk").read() == {}
    assert card(edge_of(tmp_path, application="mk")).headline == NONE_YET
    assert _checked(Settings.load(data_dir=tmp_path, app_id="mk")) == {}
    wrote(tmp_path, {ZONE_DEMAND: 2}, NOON, application="mk")
    assert card(edge_of(tmp_path, application="mk")).headline == "MISMATCH"
    assert card(edge_of(tmp_path)).headline == "MATCH"
    assert _checked(Settings.load(data_dir=tmp_path)).keys() == {view.name for view in VIEWS}


def test_a_file_of_layout_2_is_of_an_unknown_application_and_so_nobodys_verdict(tmp_path: Path) -> None:
    (tmp_path / RUNS).mkdir()
    begun = {"run_id": "r1", "begun_at": "2026-01-05T12:00:00Z"}
    ended = begun | {"finished_at": "2026-01-05T12:01:00Z", "verdict": "MATCH", "residual": 0, "reason": None}
    views = {ZONE_DEMAND.name: {"begun": begun, "finished": ended | {"report": "r1/report.json"}}}
    (tmp_path / RUNS / LATEST).write_text(json.dumps({"layout": 2, "views": views}))
    assert card(edge_of(tmp_path)).headline == NONE_YET
    wrote(tmp_path, {VENDOR_TRIPS: 0}, NOON)
    assert verdicts_in(tmp_path).read().keys() == {VENDOR_TRIPS.name}


@pytest.mark.parametrize("content", [b"{", b'{"run_id": "r1", "verdict": "MATCH"}', b'{"layout": 4, "views": {}}'])
def test_a_file_that_makes_no_sense_is_told_and_written_anew(tmp_path: Path, content: bytes) -> None:
    runs = tmp_path / "reconciliation"
    runs.mkdir()
    (runs / LATEST).write_bytes(content)
    with pytest.raises(LatestUnreadable, match="writes it anew"):
        verdicts_in(tmp_path).read()
    assert card(edge_of(tmp_path)).headline == UNREADABLE
    wrote(tmp_path, {ZONE_DEMAND: 0}, datetime(2026, 1, 5, tzinfo=UTC))
    assert card(edge_of(tmp_path)).headline == "MATCH"


def test_a_view_that_is_gone_and_one_never_checked_are_not_told_of(tmp_path: Path) -> None:
    assert (card(edge_of(tmp_path)), _verdict(None)) == ((NONE_YET, []), "never reconciled")
    wrote(tmp_path, {VENDOR_TRIPS: 3}, NOON)
    assert card(edge_of(tmp_path, ZONE_DEMAND)).headline == NONE_YET
