"""What a release declares: views, and what else reads its sources, by the rules that it judges by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.domain.branch import Branch
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Half, Join
from app.domain.source import Source


def join_over(join: Join, sources: Mapping[str, Source]) -> Join:
    """The join over the release's sources, by name; its own grace stays."""
    return replace(join, left=_half_over(join.left, sources), right=_half_over(join.right, sources))


def alert_over(alert: Alert, sources: Mapping[str, Source]) -> Alert:
    """The alert over the release's sources, by name; its own grace stays."""
    return replace(alert, starts=_half_over(alert.starts, sources), ends=_half_over(alert.ends, sources))


def branch_over(branch: Branch, sources: Mapping[str, Source]) -> Branch:
    """The branch of the release's source of that name."""
    return replace(branch, source=sources.get(branch.source.name, branch.source))


def _half_over(half: Half, sources: Mapping[str, Source]) -> Half:
    return replace(half, source=sources.get(half.source.name, half.source))
