"""A run's report for who reads no JSON: one file that needs no other, and nothing of any other place.

It is drawn of what `report.json` holds and of nothing else, so the one can be held against the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from app.base.files.verdicts import Verdict
from app.base.pages.static_files import static_text
from app.domain.corrections.repair import REMEDIES
from spark_batch.findings.page import told
from spark_batch.findings.page.ledger_bars import KINDS, ledger_bars
from spark_batch.findings.page.tallies import by_group, by_time
from spark_batch.findings.words import MEANING, OF_FINALS, OF_INCOMPLETE, OF_RECORDS, OF_REPAIRED, OF_RESULTS, OF_THIRD

HERE = Path(__file__).parent
SHOWN = 200
"""Differences of a view that are written out; `report.json` has all that were looked into."""


def report_page(report: Mapping[str, Any]) -> str:
    """HTML of a report, as `Report.as_json` gives it."""
    return _template().render(report=report, meaning=MEANING[Verdict(report["verdict"])], shown=SHOWN)


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "icon": static_text("icon.svg"),
        "style": static_text("page.css") + (HERE / "templates" / "report.css").read_text("utf-8"),
        "of_records": {kind.value: words for kind, words in OF_RECORDS.items()},
        "of_finals": {kind.value: words for kind, words in OF_FINALS.items()},
        "of_results": {kind.value: words for kind, words in OF_RESULTS.items()},
        "of_repaired": OF_REPAIRED,
        "of_third": {side.value: words for side, words in OF_THIRD.items()},
        "of_incomplete": {why.value: words for why, words in OF_INCOMPLETE.items()},
        "kinds": KINDS,
        "of_left": {why.value: words for why, words in REMEDIES.items()},
        "ledger_bars": ledger_bars,
        "by_group": by_group,
        "by_time": by_time,
        "told": told,
    }
    return environment.get_template("report.html")
