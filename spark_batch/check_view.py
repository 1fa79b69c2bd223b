"""One view against the records that it covers: live table, changelog, and what Spark makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from app.domain.advance import Advance
from spark_batch.copies import require_as_in_topics
from spark_batch.findings.compare import Comparison, compare
from spark_batch.findings.completeness import completeness
from spark_batch.findings.explain import Explained, explain
from spark_batch.findings.view_report import ViewReport
from spark_batch.folds.corrections import ToldCorrections
from spark_batch.folds.recount import Recount, counted, epoch_floors, recount
from spark_batch.folds.scoped import in_scope
from spark_batch.published.check import check_finals
from spark_batch.published.of_rows import finals_of_rows
from spark_batch.published.topics import FinalsTopics
from spark_batch.run import Reconciliation
from spark_batch.stored.changelog import changelog_rows
from spark_batch.stored.compacted import require_records_kept
from spark_batch.stored.export_client import Export, live_rows
from spark_batch.stored.ledgers import entries
from spark_batch.third.compare import compare_third

ROWS_NAMED = 10_000
"""Differing rows per view that are looked into; more are counted as residual. A batch of 20,000 rides that is applied
twice meets a few thousand rows."""


def check_view(
    run: Reconciliation,
    exports: Sequence[Export],
    stored: DataFrame,
    records: DataFrame,
    advances: Sequence[Advance],
    told: ToldCorrections,
    finals: FinalsTopics,
) -> ViewReport:
    """Recomputes the view at the cut of its `exports`, and says what differs. What else is given is of the view's
    source, and may reach beyond the cut."""
    cuts = [export.cut for export in exports]
    view = cuts[0].view
    own, scope = recount(view, cuts, records, told, run.report.scope), run.report.scope
    with run.step("ledgers", f"{view.name}: counting what became of every record"):
        figures = counted(own)
        ledger = [entry for cut in cuts for entry in entries(cut, figures, advances)]
        require_records_kept(run.settings, view.source, ledger)
        ledger += own.corrections.entries(own.judged, own.corrected.unfitting)
        ledger += epoch_floors(own, advances)
    with run.step("compare", f"{view.name}: recomputing and comparing every row"):
        live, logged = live_rows(run.spark, view, exports), changelog_rows(stored, view)
        live, logged = in_scope(view, live, scope), in_scope(view, logged, scope)
        found = compare(view, live, logged, own.rows, ROWS_NAMED)
    if run.history and found.differing_rows:
        with run.step("history", f"{view.name}: something differs, so is the history what was read?"):
            require_as_in_topics(run, cuts, records)
    with run.step("finals", f"{view.name}: comparing what was published of rows that have left"):
        published = check_finals(own, stored, finals)
        of_rows = finals_of_rows(own, found.first, finals)
    explained = _explained(run, own, stored, found)
    complete = None
    if run.with_completeness:
        with run.step("completeness", f"{view.name}: recomputing it as it should be"):
            complete = completeness(own)
    third = None
    if run.third is not None:
        with run.step("third", f"{view.name}: comparing it with its third opinion"):
            third = compare_third(own, run.third, run.settings.app_id)
    checked = ViewReport(
        view,
        cuts,
        found.live_rows,
        found.changelog_rows,
        found.recomputed_rows,
        found.differing_rows,
        len(found.first),
        explained.differences,
        ledger,
        len(own.corrections.applied),
        explained.runs,
        complete,
        published,
        of_rows,
        third,
    )
    if run.history and view.window.ends and checked.has_right_rows:
        with run.step("gold", f"{view.name}: keeping the final rows"):
            run.history.gold(view).keep(cuts, own.corrected.rows, run.report.run_id, scope)
    return checked


def _explained(run: Reconciliation, own: Recount, stored: DataFrame, found: Comparison) -> Explained:
    if not found.first:
        return Explained([], [])
    with run.step("explain", f"{own.view.name}: naming the records behind {found.differing_rows} differing rows"):
        return explain(own, stored, found.first, run.translator)
