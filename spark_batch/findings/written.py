"""A run's folder: its report for programs and for readers, each file written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import orjson

from app.base.files.whole_file import write_whole
from spark_batch.findings.page.report_page import report_page
from spark_batch.findings.report import REPORT, Report

PAGE = "report.html"
RUN_FILES = (REPORT, PAGE)


def write_report(report: Report, folder: Path) -> None:
    """`report.json`, then `report.html`."""
    document = report.as_json()
    write_whole(folder / REPORT, orjson.dumps(document, option=orjson.OPT_INDENT_2))
    write_whole(folder / PAGE, report_page(document).encode())
