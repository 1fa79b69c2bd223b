"""A source of few columns."""

from __future__ import annotations

from app.domain.measures.kinds import SUM_BOUND
from app.domain.source import Action, Coalesce, Column, Difference, Kind, Rule, Source, SourceTopic

AT = Coalesce(Column("at_us", Kind.INSTANT, False, 0, 10**15), ("ended_us", "begun_us"))

LENGTH = Difference(Column("length_us", Kind.INTEGER, True, -(10**9), 10**9), "ended_us", "begun_us")

TRIPS = Source(
    number=9,
    name="trips",
    topics=(SourceTopic(1, "trips.a"),),
    record="Trip",
    columns=(
        Column("id", Kind.TEXT, False),
        Column("begun_us", Kind.INSTANT, False, 0, 10**15),
        Column("ended_us", Kind.INSTANT, True, 0, 10**15),
        Column("cents", Kind.INTEGER, True, -SUM_BOUND, SUM_BOUND),
        Column("people", Kind.INTEGER, False, 0, 9),
        Column("unbounded", Kind.INTEGER, False),
        Column("too_wide", Kind.INTEGER, False, 0, SUM_BOUND + 1),
        Column("zone", Kind.IDENTIFIER, True, 1, 265),
        Column("shared", Kind.FLAG, True),
    ),
    derived=(AT, LENGTH),
    key="zone",
    reported_at="at_us",
    id="id",
    skew_seconds=600,
    rules=(Rule("odd", Action.MARK, "cents < 0"), Rule("full", Action.COUNT, "people == 9")),
)
