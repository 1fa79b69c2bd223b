"""Sessions that have left the tables: the history is not asked for them, and that is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.windows.instants import to_iso
from app.edge.http.context import Edge, ServedGroup
from app.edge.http.problems import Problem
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.answered import answered
from app.rides.ride import RIDES
from tests.support.expiry import left
from tests.support.http import NOON_US
from tests.support.material.stored.runs import verdicts_in
from tests.support.material.stored.tables import ready_directory
from tests.support.material.views import SHIFTS


async def test_a_query_that_names_sessions_that_have_left_is_refused_and_never_answered_by_none() -> None:
    task = left(SHIFTS, {}, None)
    position = replace(task.marker.views[SHIFTS.name], expired_to_us=NOON_US)
    task.marker = replace(task.marker, views={SHIFTS.name: position})
    edge = Edge([ServedGroup("rides", ready_directory([task]), (SHIFTS,), (RIDES,))], verdicts_in(Path()))
    for held in (RowsQuery(SHIFTS), RowsQuery(SHIFTS, NOON_US + 1)):
        assert (await answered(edge, held)).gathered.parts
    with pytest.raises(Problem, match=f"that begin before {to_iso(NOON_US + 1)} have left the tables") as told:
        await answered(edge, RowsQuery(SHIFTS, NOON_US))
    assert told.value.slug == "not-in-history"
