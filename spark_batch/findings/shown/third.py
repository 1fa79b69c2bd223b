"""What a view is beside its third opinion, for a reader at a terminal."""

from __future__ import annotations

from rich.text import Text

from app.base.printable import printable
from app.base.terminal import Terminal
from app.domain.rows import RowKey
from app.domain.view import View
from spark_batch.findings.keys import shown_instant
from spark_batch.findings.third import ThirdFound
from spark_batch.findings.words import OF_THIRD

SHOWN = 10
"""Records and rows shown of each view; the report has more."""


def show_third(out: Terminal, view: View, found: ThirdFound) -> None:
    """A line, and the first records that only one of the two counts."""
    if found.why_not:
        return  # the run's reason says it
    out.print(
        f"\n{view.name} and its third opinion as of batch {found.batch:,}: {found.rows:,} and {found.third_rows:,} "
        f"rows, {found.differing_rows:,} differ by {found.one_sided:,} records, {found.unexplained_rows:,} unexplained"
    )
    for one in found.records[:SHOWN]:
        out.print(f"    {one.place}, {printable(str(one.id))}: {OF_THIRD[one.side]}, {_key(view, one.key)}")
    if found.one_sided > SHOWN:
        out.print(f"    … and {found.one_sided - SHOWN:,} more records")
    for row in found.unexplained[:SHOWN]:
        out.print(Text.assemble(("UNEXPLAINED", "bold red"), f" {view.name} {_key(view, row.key)}"))
        out.print(f"    third {row.third or 'no row'}, its records make {row.recomputed or 'no row'}")


def _key(view: View, key: RowKey) -> str:
    group = (f"{g.name} {printable(str(value))}" for g, value in zip(view.stored_groups, key.group, strict=True))
    return ", ".join([*group, f"window_start {shown_instant(key.window_start_us or 0)}"])
