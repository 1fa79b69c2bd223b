"""Definitions as documents: what a view groups, over which window, and what it measures."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.domain.column import NumberUnit
from app.domain.figures.contract import Figure, units
from app.domain.measures.contract import Measure
from app.domain.source import Rule
from app.domain.view import View
from app.edge.http.context import Edge
from app.edge.http.query.instants import watermark_text
from app.edge.http.rows.answers import meta_document
from app.edge.http.rows.gather import Gathered
from app.edge.http.rows.parts import InputState
from app.engine.drive.ownership.directory import Directory

LINKED = ("rows", "changes", "evidence", "export")


def view_document(view: View) -> dict[str, Any]:
    """The definition. Every word of it is known without any state."""
    columns, units_of = view.source.by_name, units(view.measures, view.figures, view.source)
    return {
        "name": view.name,
        "version": view.version,
        "help": view.help,
        "source": {"name": view.source.name, "topics": [topic.name for topic in view.source.topics]},
        "groups": [
            {
                "name": g.name,
                "column": g.column,
                "kind": columns[g.column].kind,
                "help": columns[g.column].help,
            }
            for g in view.groups
        ],
        "window": {"kind": view.window.key.replace("_", "-"), **view.window.document()},
        "grace_seconds": view.grace_seconds,
        "retention_seconds": view.retention_seconds,
        "measures": [_shown(measure, units_of[measure.name]) for measure in view.measures],
        "figures": [_shown(figure, units_of[figure.name]) for figure in view.figures],
        "rules": [_rule(rule, view) for rule in view.source.rules_in(view.columns)],
        "links": {name: f"/v1/views/{view.name}/{name}" for name in LINKED},
    }


def state_document(edge: Edge, view: View, gathered: Gathered) -> dict[str, Any]:
    """The definition, and where each of its tasks stands."""
    directory = edge.directory(view)
    return {
        **view_document(view),
        "partitions": [_partition(directory, gathered, p) for p in range(directory.partitions)],
        "meta": meta_document(edge, view, gathered),
    }


def _partition(directory: Directory, gathered: Gathered, partition: int) -> dict[str, Any]:
    told: dict[str, Any] = {"partition": partition, "owner": directory.owners.get(partition)}
    part = gathered.parts.get(partition)
    if part is None:
        return told | {"missing": gathered.missing[partition]}
    return told | {
        "rows": part.row_count,
        "sequence": part.sequence,
        "changelog_offset": part.changelog_offset,
        "position": {topic: state.next_offset for topic, state in part.inputs.items()},
        "watermark": {topic: watermark_text(state.watermark_us) for topic, state in part.inputs.items()},
        "lag_records": {topic: state.lag_records for topic, state in part.inputs.items()},
        "epochs": {topic: _epochs(state) for topic, state in part.inputs.items()},
    }


def _epochs(state: InputState) -> dict[str, Any]:
    """By which rules records of a topic-partition were judged, from which offset on."""
    return {
        "skew": [asdict(epoch) for epoch in state.skews],
        "grace": [
            {
                "from_offset": epoch.from_offset,
                "grace_seconds": epoch.grace_seconds,
                "closed_to": watermark_text(epoch.floor_us),
            }
            for epoch in state.graces
        ],
    }


def _rule(rule: Rule, view: View) -> dict[str, Any]:
    """A rule of cleanliness whose column the view reads."""
    told = {"name": rule.name, "action": rule.action, "when": rule.meaning, "help": rule.help}
    return told | {"left_out": rule.name in view.leaves_out}


def _shown(one: Measure | Figure, unit: NumberUnit | None) -> dict[str, Any]:
    return {"name": one.name, "kind": one.key, "help": one.help, "unit": unit, **one.document()}
