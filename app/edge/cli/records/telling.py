"""Refused records, and what became of them, as tables and JSON."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from app.domain.records import Value
from app.edge.cli.common import echo_table
from app.edge.late.cost import Cost
from app.edge.late.mending import Reader
from app.edge.late.refeed import WOULD_APPLY, Changed, RecordOutcome, Refeeding
from app.edge.late.refused import RefusedRecord

Counts = Mapping[tuple[str, str, str], int]
"""Refused records by reason, view and its version, "" where no view refused them."""


def refused_as_json(records: Sequence[RefusedRecord], counts: Counts, read: Reader | None) -> dict[str, Any]:
    """With their values if there is who reads them."""
    told = [
        {"reason": reason, "view": view or None, "version": version or None, "count": n}
        for (reason, view, version), n in sorted(counts.items())
    ]
    return {"counts": told, "records": [_record(record, read) for record in records]}


def echo_refused(records: Sequence[RefusedRecord], counts: Counts, read: Reader | None) -> None:
    """A table of the records, and how many there are of each kind."""
    more = () if read is None else ("VALUES",)
    rows = (
        (
            record.reason,
            ",".join(record.views),
            f"{record.place.topic}-{record.place.partition}",
            record.place.offset,
            _time(record.timestamp_ms),
            record.value_bytes,
            *(() if read is None else (_values(read(record)),)),
        )
        for record in records
    )
    echo_table(("REASON", "VIEWS", "FROM", "OFFSET", "KAFKA TIMESTAMP", "BYTES", *more), rows)
    click.echo()
    echo_table(("REASON", "VIEW", "VERSION", "COUNT"), [(*kind, n) for kind, n in sorted(counts.items())])


def run_as_json(run: Refeeding, told: Sequence[RecordOutcome]) -> dict[str, Any]:
    return {
        "run": run.run,
        "records": [{**one.place._asdict(), "view": one.view, "outcome": one.outcome, "why": one.why} for one in told],
        "rows": list(_rows(run.changes)),
    }


def echo_run(run: Refeeding, told: Sequence[RecordOutcome], limit: int) -> None:
    """The first records, then counts."""
    rows = [(o.view, f"{o.place.topic}-{o.place.partition}", o.place.offset, o.outcome, o.words) for o in told[:limit]]
    echo_table(("VIEW", "FROM", "OFFSET", "OUTCOME", "WHY"), rows)
    click.echo()
    counts = Counter((one.view, one.outcome, one.words) for one in told)
    echo_table(("VIEW", "OUTCOME", "WHY", "RECORDS"), [(*kind, n) for kind, n in sorted(counts.items())])
    changed = len({(one.view.name, one.partition, one.correction.key) for one in run.changes})
    what = "rows that would change" if any(one.outcome == WOULD_APPLY for one in told) else "rows changed"
    click.echo(f"\n{run.run}: {what}: {changed:,}")


def echo_costs(costs: Sequence[Cost]) -> None:
    """Counts, then the measures side by side."""
    echo_table(
        ("VIEW", "GRACE", "APPLIED", "LATE", "SHARE", "ADDED SINCE"),
        [
            (
                one.view.name,
                f"{one.view.grace_seconds} s",
                one.applied,
                one.late,
                "" if one.share is None else f"{one.share:.4%}",
                one.added,
            )
            for one in costs
        ],
    )
    click.echo()
    rows = [
        (one.view.name, m.measure, m.column or "", _figure(m.kept), _figure(m.late))
        for one in costs
        for m in one.measures
    ]
    echo_table(("VIEW", "MEASURE", "OF COLUMN", "KEPT: MEAN, OR MEDIAN'S BIN", "LATE"), rows)


def _figure(figure: float | tuple[int | None, int | None] | None) -> str:
    if figure is None:
        return "no value"
    if isinstance(figure, tuple):
        low, high = ("" if bound is None else f"{bound:,}" for bound in figure)
        return f"[{low} … {high})"
    return f"{figure:,.2f}"


def _record(record: RefusedRecord, read: Reader | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        **record.place._asdict(),
        "timestamp_ms": record.timestamp_ms,
        "reason": record.reason,
        "views": dict(record.views),
        "key_hex": None if record.key is None else record.key.hex(),
        "value_hex": None if record.value is None else record.value.hex(),
        "shortened": record.original is not None,
        "value_bytes": record.value_bytes,
        "headers": [[name, None if value is None else value.hex()] for name, value in record.headers],
    }
    if read is not None:
        values = read(record)
        told["values"], told["unreadable"] = (None, values) if isinstance(values, str) else (values, None)
    return told


def _values(values: dict[str, Value] | str) -> str:
    if isinstance(values, str):
        return f"({values})"
    return " ".join(f"{name}={value}" for name, value in values.items() if value is not None)


def _rows(changes: Sequence[Changed]) -> Iterator[dict[str, Any]]:
    for change in changes:
        before, after = change.correction.expected, change.correction.row
        yield {
            "view": change.view.name,
            "partition": change.partition,
            "window_start_us": change.correction.key.window_start_us,
            "group": list(change.correction.key.group),
            "count_before": before[0] if before else 0,
            "count_after": after[0] if after else 0,
        }


def _time(timestamp_ms: int) -> str:
    return "none" if timestamp_ms < 0 else f"{dt.datetime.fromtimestamp(timestamp_ms / 1000, dt.UTC):%Y-%m-%d %H:%M:%S}"
