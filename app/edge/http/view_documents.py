"""Definitions as documents: what a view groups, over which window, and what it measures."""

from __future__ import annotations

from typing import Any

from app.domain.measures import Count, Histogram, Measure
from app.domain.view import Tumbling, View
from app.edge.http.answers import meta_document, watermark_text
from app.edge.http.context import Edge
from app.edge.http.gather import Gathered
from app.edge.http.instants import to_duration


def view_document(view: View) -> dict[str, Any]:
    """The definition. Every word of it is known without any state."""
    columns = view.source.by_name
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
        "window": _window(view),
        "grace_seconds": view.grace_seconds,
        "retention_seconds": view.retention_seconds,
        "measures": [_measure(measure) for measure in view.measures],
        "links": {name: f"/v1/views/{view.name}/{name}" for name in ("rows", "export")},
    }


def state_document(edge: Edge, view: View, gathered: Gathered) -> dict[str, Any]:
    """The definition, and where each of its tasks stands."""
    return {
        **view_document(view),
        "partitions": [_partition(edge, gathered, p) for p in range(edge.directory.partitions)],
        "meta": meta_document(edge, view, gathered),
    }


def _partition(edge: Edge, gathered: Gathered, partition: int) -> dict[str, Any]:
    told: dict[str, Any] = {"partition": partition, "owner": edge.directory.owners.get(partition)}
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
    }


def _window(view: View) -> dict[str, Any]:
    if isinstance(view.window, Tumbling):
        return {"kind": "tumbling", "column": view.window.column, "pane": to_duration(view.window.size_us)}
    return {"kind": "all-time"}


def _measure(measure: Measure) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": measure.name,
        "kind": type(measure).__name__.lower(),
        "help": measure.help,
    }
    if not isinstance(measure, Count):
        told["column"] = measure.column
    if isinstance(measure, Histogram):
        told["edges"] = list(measure.edges)
    return told
