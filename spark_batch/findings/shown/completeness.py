"""What a view should be, for a reader at a terminal."""

from __future__ import annotations

from rich.text import Text

from app.base.printable import printable
from app.base.terminal import Terminal
from app.domain.view import View
from spark_batch.findings.completeness import Completeness, Incomplete, IncompleteRow
from spark_batch.findings.keys import shown_instant

SHOWN = 5
"""Rows shown of each view; the report has some more."""
WORDS = {
    Incomplete.LATE: "late",
    Incomplete.QUARANTINED: "refused then and usable today",
    Incomplete.DUPLICATE_INPUT: "there twice",
    Incomplete.MOVED: "in another row for it",
}


def show_completeness(out: Terminal, view: View, found: Completeness) -> None:
    """A line, and the first rows that would be others."""
    told = ", ".join(f"{found.records[why]:,} records {words}" for why, words in WORDS.items() if found.records[why])
    rows = (
        f"{found.differing_rows:,} of {found.rows:,} rows would be others were no record late, refused or there twice"
    )
    out.print(f"\n{view.name}: {rows}" + (f": {told}" if told else "") + f"; unexplained residual {found.residual}")
    for one in found.first[:SHOWN]:
        out.print(Text.assemble("  ", _key(view, one), f": {one.count:,} records, should be {one.should_be:,}"))
        for record in one.records[:SHOWN]:
            way = "in" if record.times > 0 else "out"
            out.print(f"    {way}: {record.why.value} {record.topic}[{record.partition}] offset {record.offset}")


def _key(view: View, one: IncompleteRow) -> str:
    told = {group.name: value for group, value in zip(view.stored_groups, one.group, strict=True)}
    window = {} if one.window_start_us is None else {"window_start": shown_instant(one.window_start_us)}
    key = {"partition": one.partition, **told, **window}
    return ", ".join(f"{name} {printable(str(value))}" for name, value in key.items())
