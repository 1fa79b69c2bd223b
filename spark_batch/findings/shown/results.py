"""What a run found of joins and alerts, for a reader at a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from app.base.printable import printable
from app.base.terminal import Terminal
from spark_batch.findings.results import PairingReport, ResultDifference
from spark_batch.findings.words import OF_RESULTS

SHOWN = 10
"""Differences shown of each; the report has all that were looked into."""


def show_results(out: Terminal, found: PairingReport) -> None:
    """A line, and the first differences."""
    out.print(Text.assemble(f"\n{found.pairing.name}: ", *_sum(found)))
    for one in found.compared.differences[:SHOWN]:
        where = f"partition {one.partition}" + ("" if one.offset is None else f" offset {one.offset}")
        what = f" {found.pairing.output.name}, {where}: {OF_RESULTS[one.kind]}"
        out.print(Text.assemble((one.kind.value, "bold red"), what))
        for line in _told(found, one):
            out.print(f"    {line}")
    if found.differing > SHOWN:
        out.print(f"… and {found.differing - SHOWN:,} more of {found.pairing.name}")


def _sum(found: PairingReport) -> Iterator[str]:
    compared = found.compared
    yield f"{compared.due:,} results are due in {found.pairing.output.name}, {found.differing:,} differ"
    if compared.gone:
        yield f", {compared.gone:,} are older than what it holds and were not compared"
    if compared.later:
        yield f", {compared.later:,} may have come since the cut and were not compared"


def _told(found: PairingReport, one: ResultDifference) -> Iterator[str]:
    for side, place in found.places(one).items():
        yield f"{side}: {place}"
    if one.sent is not None and one.recomputed is not None:
        for name, value in one.recomputed.items():
            if (sent := one.sent[name]) != value:
                yield f"{name}: sent {printable(str(sent))}, recomputed {printable(str(value))}"
