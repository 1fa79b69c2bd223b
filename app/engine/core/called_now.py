"""What a marker tells of, under the names that a release gives it: names may change, numbers never."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from app.domain.marker import AlertPosition, JoinPosition, Marker, ViewPosition, former_key
from app.domain.view import View
from app.engine.core.definition import TaskDefinition

Named = TypeVar("Named", ViewPosition, JoinPosition, AlertPosition)


def as_called_now(definition: TaskDefinition, marker: Marker) -> Marker:
    """The marker with all that is declared under the names that it has now; what these names have been taken from is
    under what tells its rows apart.

    A view is known by its number and version, as its rows are; a join or alert by its number, as one that was changed
    is refused.
    """
    views = {_row_key(view): view.name for view in definition.views}
    joins = {join.number: join.name for join in definition.joins}
    alerts = {alert.number: alert.name for alert in definition.alerts}
    return replace(
        marker,
        views=_renamed(marker.views, lambda at: views.get(_row_key(at)), {*views.values()}),
        joins=_renamed(marker.joins, lambda at: joins.get(at.number), {*joins.values()}),
        alerts=_renamed(marker.alerts, lambda at: alerts.get(at.number), {*alerts.values()}),
    )


def _renamed(
    positions: Mapping[str, Named], name_of: Callable[[Named], str | None], taken: set[str]
) -> dict[str, Named]:
    return {
        name_of(position) or (_row_key(position) if name in taken else name): position
        for name, position in positions.items()
    }


def _row_key(one: View | Named) -> str:
    return former_key(one.number, one.version)
