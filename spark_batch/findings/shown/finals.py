"""What was published of rows that have left the tables, for a reader at a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from app.base.names import finals_topic
from app.base.printable import printable
from app.base.terminal import Terminal
from app.domain.view import View
from spark_batch.findings.finals import ComparedFinals, FinalDifference
from spark_batch.findings.keys import shown_instant
from spark_batch.findings.words import OF_FINALS

SHOWN = 10
"""Differences shown of each view; the report has some more."""


def show_finals(out: Terminal, view: View, found: ComparedFinals) -> None:
    """A line, and the first differences."""
    out.print("".join(_sum(view, found)))
    for one in found.differences[:SHOWN]:
        out.print(Text.assemble((one.kind.value, "bold red"), f" {_key(view, one)}: {OF_FINALS[one.kind]}"))
        if one.place is not None:
            out.print(f"    published: {one.place}")
        if one.published is not None and one.recomputed is not None:
            for name, told, own in zip(view.cells, one.published, one.recomputed, strict=False):
                if told != own:
                    out.print(f"    {name}: published {told}, recomputed {own}")
    if found.differing > SHOWN:
        out.print(f"… and {found.differing - SHOWN:,} more finals of {view.name}")


def _sum(view: View, found: ComparedFinals) -> Iterator[str]:
    yield f"{view.name}: {found.compared:,} rows that have left were compared with {finals_topic(view.name)}, "
    yield f"{found.differing:,} differ"
    if found.corrected:
        yield f"; {found.corrected:,} were corrected since and not compared"
    if found.gone:
        yield f"; {found.gone:,} are older than what it holds and were not compared"
    if found.repeated:
        yield f"; {found.repeated:,} stand there again"


def _key(view: View, one: FinalDifference) -> str:
    group = (f"{g.name} {printable(str(value))}" for g, value in zip(view.groups, one.key.group, strict=True))
    return ", ".join([view.name, *group, f"window_start {shown_instant(one.key.window_start_us or 0)}"])
