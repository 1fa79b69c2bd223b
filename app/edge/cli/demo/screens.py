"""What the demo shows: a line per step, a few answers as tables, and a last screen."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from app.base.printable import printable
from app.base.terminal import Terminal
from app.base.worker_door import WorkerDoor
from app.edge.local.ask import ask

TOP = 5
MOST_ROWS = 10_000


@dataclass
class Steps:
    """The demo's steps with the seconds that each took."""

    console: Terminal
    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Announce, run, and say how long it took."""
        announce(self.console, what)
        began = monotonic()
        yield
        self.seconds[what] = round(monotonic() - began, 2)
        self.console.print(Text.assemble("  ", ("done", "green"), f" in {self.seconds[what]:.1f} s"))


def announce(console: Terminal, what: str) -> None:
    """A line for what begins."""
    console.print(Text.assemble(("▸", "cyan"), f" {what}"), soft_wrap=True)


def show_answers(console: Terminal, worker: WorkerDoor) -> None:
    """Three questions, each with the request that anyone can send."""
    zone, day = _show_top_zones(console, worker)
    _show_hour(console, worker, zone, day)
    _show_vendors(console, worker)


def _show_top_zones(console: Terminal, worker: WorkerDoor) -> tuple[int, datetime]:
    path = "/v1/views/zone_demand/rows"
    parameters: dict[str, str | int] = {"window": "24h", "order": "desc", "limit": MOST_ROWS}
    rows = ask(worker, path, **parameters)["data"]
    by_day: Counter[str] = Counter()
    for row in rows:
        by_day[row["window"]["start"]] += row["measures"]["rides"]
    day = by_day.most_common(1)[0][0]
    top = sorted((r for r in rows if r["window"]["start"] == day), key=lambda r: -r["measures"]["rides"])[:TOP]
    table = _table(f"Busiest zones of {day[:10]} (UTC)", "zone", "", "rides", "fares", "longest ride")
    for row in top:
        group, seen = row["group"], row["measures"]
        table.add_row(
            "none" if group["zone"] is None else str(group["zone"]),
            printable(group["zone_name"] or "not recorded"),
            f"{seen['rides']:,}",
            f"${seen['fare_cents'] / 100:,.0f}",
            f"{(seen['longest_us'] or 0) / 60e6:,.0f} min",
        )
    _print(console, table, path, parameters)
    known = next((row for row in top if row["group"]["zone"] is not None), top[0])
    return known["group"]["zone"], datetime.fromisoformat(day)


def _show_hour(console: Terminal, worker: WorkerDoor, zone: int, day: datetime) -> None:
    path = "/v1/views/zone_demand/rows"
    until = day + timedelta(days=1)
    hours = ask(worker, path, zone=zone, window="1h", **{"from": _iso(day), "to": _iso(until)})["data"]
    hour = datetime.fromisoformat(max(hours, key=lambda row: row["measures"]["rides"])["window"]["start"])
    parameters: dict[str, str | int] = {
        "zone": zone,
        "from": _iso(hour),
        "to": _iso(hour + timedelta(hours=1)),
        "window": "15m",
    }
    table = _table(f"Zone {zone}, its busiest hour", "from (UTC)", "rides", "passengers", "tips", "state")
    for row in ask(worker, path, **parameters)["data"]:
        seen = row["measures"]
        tips, passengers = f"${seen['tip_cents'] / 100:,.2f}", f"{seen['passengers']:,}"
        table.add_row(row["window"]["start"][11:16], f"{seen['rides']:,}", passengers, tips, row["state"])
    _print(console, table, path, parameters)


def _show_vendors(console: Terminal, worker: WorkerDoor) -> None:
    path = "/v1/views/vendor_trips/rows"
    parameters: dict[str, str | int] = {"limit": MOST_ROWS}
    rows = ask(worker, path, **parameters)["data"]
    table = _table("Trips per vendor so far", "vendor", "trips", "fingerprint")
    for row in sorted(rows, key=lambda r: -r["measures"]["trips"])[:TOP]:
        table.add_row(printable(row["group"]["vendor"] or "none"), f"{row['measures']['trips']:,}", row["fingerprint"])
    _print(console, table, path, parameters)


def last_screen(console: Terminal, facts: dict[str, Any]) -> None:
    """What happened, what the figures mean, what to try next."""
    verdict, colour = facts["verdict"], "green" if facts["verdict"] == "MATCH" else "red"
    figures = Table.grid(padding=(0, 2, 1, 0))
    figures.add_column(style="bold")
    figures.add_column()
    for name, meaning in (
        ("happened", _HAPPENED.format(**facts)),
        (Text(verdict, colour), _MEANING[verdict]),
        ("position", _POSITION.format(**facts)),
        ("fingerprint", _FINGERPRINT),
        ("late", _LATE.format(**facts)),
        ("quarantined", _QUARANTINED.format(**facts)),
        ("time", _TIME.format(**facts)),
    ):
        figures.add_row(name, meaning)
    following = Table.grid(padding=(0, 2, 0, 0))
    for command, what in _NEXT.items():
        following.add_row(Text(command, "bold"), what)
    console.print(Panel(Group(figures, "", following), title="flagfall demo", border_style=colour))


_HAPPENED = (
    "{rides:,} rides went into Kafka ({rides_per_second:,} a second). Two workers kept their tables from them, and "
    "Spark read the same topics again, to the same offsets."
)
_POSITION = (
    "{position:,} offsets are covered. Every answer names the offsets that it rests on; Spark recomputed to those."
)
_FINGERPRINT = (
    "Each row sums a mix of the (topic, partition, offset) of its records. Equal fingerprints: the same records. "
    "Where two differ by one record, the difference names it."
)
_LATE = "{late:,} rides came after their window had closed. They are in the late topic, not in the table."
_QUARANTINED = (
    "{quarantined:,} rides could not be used: stamped years ahead, say. They are in the quarantine topic, each with "
    "its reason. Applied, late and quarantined make up all that went in."
)
_TIME = "{seconds:.0f} seconds. Everything was stopped; logs and report are in {data_dir}."
_NEXT = {
    "make up": "the same, left running, with a page to look at",
    "make demo RIDES=path": "real trip files of the TLC",
    ".venv/bin/flagfall -h": "every part by itself",
    "README.md": "how it works, and why the figures can be trusted",
}
_MEANING = {
    "MATCH": "Every row of every table equals its recomputation, record by record.",
    "MISMATCH": "Rows differ; the table above names them and the records to blame.",
    "INCONCLUSIVE": "The run could not decide. Mend the reason that stands above, then run it again.",
    "INVALID": "The topics do not hold what the tables claim to cover.",
}


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="left" if column in {"", "zone", "vendor", "state"} else "right")
    return table


def _print(console: Terminal, table: Table, path: str, parameters: dict[str, Any]) -> None:
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    console.print()
    console.print(table)
    console.print(f"GET {path}?{query}", style="dim", soft_wrap=True)


def _iso(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
