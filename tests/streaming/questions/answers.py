"""What Polars makes of records, asked as an example of docs/questions.md asks; for views whose measures it knows."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from app.domain.view import View
from app.domain.windows.durations import duration_us
from app.domain.windows.instants import to_iso
from app.edge.cli.main import cli
from app.edge.cli.tables.query import command as query_command
from app.edge.http.query.instants import to_us

PAGE = Path(__file__).parents[3] / "docs/questions.md"
EXAMPLES = re.findall(r"^ {4}flagfall query (.+)$", PAGE.read_text("utf-8"), re.MULTILINE)
STATEMENTS = [
    " ".join(words.split()) for words in re.findall(r'^ {4}flagfall sql "(.+?)"$', PAGE.read_text("utf-8"), re.M | re.S)
]
LIMIT = 100

Asked = Mapping[str, Any]
"""What the command line takes out of an example."""
Row = dict[str, Any]


def _ratio(over: str, per: str) -> pl.Expr:
    """Of two sums; null over nothing."""
    return pl.when(pl.col(per).sum() != 0).then(pl.col(over).sum() / pl.col(per).sum())


def _quantile(percent: int) -> pl.Expr:
    """The value by which so many percent are reached."""
    durations = pl.col("duration_us").drop_nulls()
    return durations.sort().get((percent * durations.len() + 99) // 100 - 1, null_on_oob=True)


SUMS = ("tip_cents", "fare_cents", "total_cents")
OF_ALL = {
    "tip_rate": _ratio("tip_cents", "fare_cents"),
    "total_cents_values": pl.col("total_cents").count(),
    "median_us": _quantile(50),
    "p95_us": _quantile(95),
    **{name: pl.col(name).sum() for name in SUMS},
}
"""What is known of measures wherever they are."""


def examples_of(*views: View) -> list[str]:
    """Those of the page that ask one of these."""
    names = {view.name for view in views}
    return [example for example in EXAMPLES if example.split()[0] in names]


async def assert_tells(
    url: str, example: str, view: View, records: pl.DataFrame, measures: Mapping[str, pl.Expr]
) -> None:
    """The example, typed at a worker, tells of the view what the records say; `measures` says how each is made."""
    typed = ["query", *shlex.split(example), "--worker", url, "--json"]
    ran = await asyncio.to_thread(CliRunner().invoke, cli, typed, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    answer = json.loads(ran.output)
    as_of_us = min(map(to_us, answer["meta"]["watermark"].values()), default=0)  # only `--last` asks
    asked = query_command.make_context("query", shlex.split(example), resilient_parsing=False).params
    wanted = expected(view, asked, records, as_of_us, OF_ALL | measures)
    assert len(answer["data"]) == len(wanted) > 0
    for told, (window_us, row) in zip(answer["data"], wanted, strict=True):
        assert (told["window"] or {}).get("start") == (None if window_us is None else to_iso(window_us))
        compare(told, row)


async def answered(url: str, statement: str) -> list[Row]:
    """What a statement of the page is answered with, row by row."""
    typed = ["sql", statement, "--worker", url, "--json"]
    ran = await asyncio.to_thread(CliRunner().invoke, cli, typed, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.output)
    names = [column["name"] for column in told["columns"]]
    return [dict(zip(names, row, strict=True)) for row in told["data"]]


def expected(
    view: View, asked: Asked, records: pl.DataFrame, as_of_us: int, measures: Mapping[str, pl.Expr]
) -> list[tuple[int | None, Row]]:
    """Windows and rows, in order, as Polars has them; rows of all time have no window."""
    columns, at = {group.name: group.column for group in view.groups}, view.window.column
    if at is None:
        records, at = records.with_columns(pl.lit(None, pl.Int64).alias("all_time"), pl.lit(0).alias("at")), "at"
        begins = pl.col("all_time")
    elif view.window.merges:
        records, begins = in_sessions(view, at, records, list(columns.values())), pl.col("session")
    else:
        records, begins = in_windows(view, at, asked, records, as_of_us)
    given = [("zone", zone) for zone in asked["zones"]] + [tuple(group.split("=")) for group in asked["groups"]]
    for name in {name for name, _ in given}:
        records = records.filter(pl.col(columns[name]).is_in([int(value) for n, value in given if n == name]))
    kept = [name for name in columns if not asked["group_by"] or name in asked["group_by"]]
    keys = [begins.alias("window"), *(pl.col(columns[name]).alias(name) for name in kept)]
    rows = records.filter(pl.col(at).is_not_null()).group_by(keys).agg(**known(view, measures))
    return [(row.pop("window"), row) for row in arranged(rows, view, asked, kept).to_dicts()]


def in_windows(view: View, at: str, asked: Asked, records: pl.DataFrame, as_of_us: int) -> tuple[pl.DataFrame, pl.Expr]:
    """The records in question, and where the window of each begins."""
    pane_us = panes.size_us if (panes := view.window.panes) else 1
    size_us = duration_us(asked["window"] or asked["last"]) if asked["window"] or asked["last"] else pane_us
    if not asked["last"]:
        return records, pl.col(at) // size_us * size_us
    until_us = as_of_us // pane_us * pane_us
    return records.filter(pl.col(at).is_between(until_us - size_us, until_us, closed="left")), pl.lit(
        until_us - size_us
    )


def in_sessions(view: View, at: str, records: pl.DataFrame, groups: list[str]) -> pl.DataFrame:
    """Where the session of each record begins."""
    gap_us = view.window.end(0, 0)  # behind its only record
    placed = records.filter(pl.col(at).is_not_null()).sort([*groups, at])
    begins = pl.when((pl.col(at).diff() > gap_us).over(groups).fill_null(True)).then(pl.col(at))
    return placed.with_columns(begins.alias("session")).with_columns(pl.col("session").forward_fill().over(groups))


def known(view: View, measures: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """What the view tells, as far as it is known how it is made."""
    shown = {shown.name for shown in view.shown} | {figure.name for figure in view.figures}
    bins = {"median_us", "p95_us"} if "median_duration_us" in shown else set()
    return {name: made for name, made in measures.items() if name in shown | bins} | {"count": pl.len()}


def arranged(rows: pl.DataFrame, view: View, asked: Asked, kept: list[str]) -> pl.DataFrame:
    """In the order asked for, the highest of each window or of all."""
    newest = asked["newest"]
    ordered = rows.sort(["window", *kept], descending=[newest] * (1 + len(kept)), nulls_last=newest)
    if asked["top"]:
        latest = ["latest_us"] if "latest_us" in rows.columns else []
        highest = [asked["by"], "count", *latest]
        ordered = ordered.sort(highest, descending=True, nulls_last=True, maintain_order=True)
        if asked["among"] == "group":
            ordered = ordered.sort(kept, maintain_order=True).group_by(kept, maintain_order=True).head(asked["top"])
        elif asked["among"] == "all" or view.window.merges:
            ordered = ordered.head(asked["top"])
        else:
            ordered = (
                ordered.sort("window", maintain_order=True).group_by("window", maintain_order=True).head(asked["top"])
            )
    return ordered.head(asked["limit"] or LIMIT)


def compare(told: Row, row: Row) -> None:
    """What is told of a row equals what is known of it."""
    values = told["measures"] | told.get("figures", {}) | {"count": told["count"]}
    groups = {name: told["group"][name] for name in row if name in told["group"]}
    assert groups == {name: row[name] for name in groups}
    for name in values.keys() & row.keys():
        assert values[name] == (pytest.approx(row[name]) if isinstance(row[name], float) else row[name]), name
    for name, of in (("median_duration_us", "median_us"), ("p95_duration_us", "p95_us")):
        if name in values and of in row:
            low, high = values[name]["from"], values[name]["to"]
            assert low is None or low <= row[of]
            assert high is None or row[of] < high
