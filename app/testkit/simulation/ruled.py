"""Sources and views by the rules of a release that a history deploys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.domain.source import Source
from app.domain.view import View
from app.testkit.simulation.steps import NewRules


def ruled_source(source: Source, rules: NewRules | None) -> Source:
    """The source with the release's skew; None: as it was first."""
    return source if rules is None else replace(source, skew_seconds=rules.skew_seconds)


def ruled_views(views: Iterable[View], rules: NewRules | None) -> tuple[View, ...]:
    """The views with the release's graces and skew."""
    graces = {} if rules is None else dict(rules.graces)
    return tuple(
        replace(view, source=ruled_source(view.source, rules), grace_seconds=graces.get(view.name, view.grace_seconds))
        for view in views
    )
