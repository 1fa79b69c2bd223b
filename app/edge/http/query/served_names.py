"""Names of views and of what is in them, where they would be something else in an address, a table or a statement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.domain.errors import DefinitionError
from app.domain.view import View
from app.edge.http.query.arrangement import NO_GROUP, shown_names
from app.edge.http.query.parameters import RESERVED
from app.rides.zones import ZONE_COLUMNS

ZONES = "zones"
"""What the table of zone names is called in SQL."""


def check_names(views: Sequence[View]) -> None:
    """DefinitionError if views, as they are served together, cannot be told by their names."""
    if problems := [*_of_views(views), *(problem for view in views for problem in _within(view))]:
        raise DefinitionError("views cannot be served", problems)


def _of_views(views: Sequence[View]) -> Iterable[str]:
    seen: dict[str, str] = {}
    for view in views:
        if view.name.lower() == ZONES:
            yield f"view {view.name!r}: SQL's table of the names of zones is called so; choose another name"
        if (other := seen.setdefault(view.name.lower(), view.name)) != view.name:
            yield f"views {other!r} and {view.name!r}: SQL knows no case, to it they are one; choose another name"


def _within(view: View) -> Iterable[str]:
    groups = [group.name for group in view.groups]
    yield from (
        f"view {view.name!r}: group {name!r}: a query parameter has that name"
        for name in groups
        if name in {*RESERVED, NO_GROUP}
    )
    zones = [group.name for group in view.groups if group.column in ZONE_COLUMNS]
    bins = [figure.name for figure in view.figures if not figure.is_number]
    ours = [f"{zone}_{what}" for zone in zones for what in ("name", "borough")]
    ours += [f"{name}_{end}" for name in bins for end in ("from", "to")]
    taken = {name.lower() for name in (*groups, *shown_names(view))}
    yield from (f"view {view.name!r}: {name!r} is a column of its tables already" for name in ours if name in taken)
