"""What views lose of a schema that workers can read: columns that it lacks, and values that no column takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.codecs.avro.fit import can_give
from app.domain.catalogue import Catalogue, TaskGroup
from app.domain.pairs.joined import Side
from app.domain.pairs.pairing import Pairing
from app.domain.records import Reason
from app.domain.source import Column, Source
from app.domain.view import View


def losses(catalogue: Catalogue, source: Source, declared: Mapping[str, Any]) -> Iterator[str]:
    """Of records under a readable schema (as JSON): each column that is null in all, and each value that is refused."""
    fields = {field["name"]: field["type"] for field in declared["fields"]}
    for column in source.columns:
        given = _branches(fields.get(column.name, "null"))
        if {*map(_kind, given)} == {"null"}:
            uses = ", ".join(_uses(catalogue.group_of(source), source, column.name)) or "which nothing uses"
            yield f"workers would read null for {column.name}, {uses}"
        else:
            yield from _refused(column, given)


def _refused(column: Column, branches: list[Any]) -> Iterator[str]:
    for branch in branches:
        if can_give(column, branch):
            continue
        kind = _kind(branch)
        reason = f"{Reason.OUT_OF_BOUNDS}:{column.name}" if kind == "null" else Reason.UNDECODABLE
        yield f"workers would quarantine each record whose {column.name} is {kind}, as {reason}"


def _kind(branch: Any) -> str:
    return str(branch.get("type") if isinstance(branch, Mapping) else branch)


def _branches(declared: Any) -> list[Any]:
    return declared if isinstance(declared, list) else [declared]


def _uses(group: TaskGroup, source: Source, name: str) -> Iterator[str]:
    """What it means to what the group makes of the source's records."""
    made = [one.column.name for one in source.derived if name in one.bases]
    rules = [rule.name for rule in source.rules if rule.columns & {name, *made}]
    if source.reported_at in made:
        yield f"of which {source.reported_at} is made, the time of watermarks"
    for view in group.views:
        if view.source == source:
            yield from _of_view(view, {name, *made, *rules})
    if rules:
        yield f"about which {'rules' if rules[1:] else 'the rule'} {' and '.join(rules)} ask{'' if rules[1:] else 's'}"
    for pairing in group.pairing:
        yield from _of_pairing(pairing, source, {name, *made})
    for branch in group.branches:
        if branch.source == source and {name, *made} & set(branch.columns):
            yield f"by which the branch {branch.name} sends on"


def _of_view(view: View, names: set[str]) -> Iterator[str]:
    if any(group.column in names for group in view.groups):
        yield f"by which {view.name} groups"
    if view.window.column in names:
        yield f"by which {view.name} chooses windows"
    if measured := [measure.name for measure in view.measures if measure.column in names]:
        yield f"of which {view.name} measures {' and '.join(measured)}"
    if names & set(view.leaves_out):
        yield f"by which {view.name} leaves records out"


def _of_pairing(pairing: Pairing, source: Source, names: set[str]) -> Iterator[str]:
    for side in Side:
        half = pairing.half(side)
        if half.source == source and names & half.columns:
            yield f"by which {pairing.name} matches"
        if half.source == source and names & set(pairing.needed(side)):
            yield f"which {pairing.name} carries on"
