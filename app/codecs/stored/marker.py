"""A marker as JSON, layout 9: readable with any console consumer.

Layout 1 had no joins, no closings and no building views; a marker of it is read as one without them. So is one of
layout 2 without alerts, which came later: an older version that meets what they watch stops in words. Up to layout 2
one skew held for all inputs, and views had their grace in their versions. Up to layout 3 no view was `clearing`, up to
layout 4 no loss had been accepted, no rule of cleanliness refused records, and no correction was folded in twice. Up to
layout 5 no marker named its changelog, up to layout 6 none told how many tasks there are, up to layout 7 a view
that was renamed began anew. Up to layout 8 none told what its former life had published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import orjson

from app.domain.cleanliness.rule import Refusing
from app.domain.errors import LayoutError
from app.domain.marker import (
    AlertPosition,
    BranchPosition,
    BuildPosition,
    Fates,
    InputPosition,
    JoinPosition,
    Marker,
    OffsetRange,
    ViewPosition,
)
from app.domain.rules.epochs import GraceEpoch, SkewEpoch

LAYOUT = 9
READABLE = (1, 2, 3, 4, 5, 6, 7, 8, 9)
OPTIONAL = ("alerts", "branches", "closed_before", "schemas", "changelog_id", "tasks", "closing_partitions")
"""Left out where there are none."""


def encode_marker(marker: Marker) -> bytes:
    """The marker's bytes; equal markers give equal bytes."""
    told = {f.name: getattr(marker, f.name) for f in fields(marker)}
    kept = [
        b'"%s":%s' % (name.encode(), orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
        for name, value in told.items()
        if value or name not in OPTIONAL
    ]
    return b'{"layout":%d,"marker":{%s}}' % (LAYOUT, b",".join(kept))


def decode_marker(value: bytes) -> Marker:
    """Inverse of `encode_marker`, of older layouts too; LayoutError for one this version does not know, or for none."""
    document = _document(value)
    if document.get("layout") not in READABLE:
        raise LayoutError(
            f"marker of layout {document.get('layout')}, this version reads {', '.join(map(str, READABLE))}: "
            "use the version that wrote it, or another FLAGFALL_APP_ID to build the tables anew"
        )
    told = document.get("marker")
    if not isinstance(told, dict):
        raise _no_marker(value)
    return Marker(
        application=told["application"],
        source=told["source"],
        partition=told["partition"],
        sequence=told["sequence"],
        inputs={topic: _input(position, told.get("rules", ())) for topic, position in told["inputs"].items()},
        views={name: _view(position) for name, position in told["views"].items()},
        joins={name: JoinPosition(**_position(position)) for name, position in told.get("joins", {}).items()},
        alerts={name: AlertPosition(**_position(position)) for name, position in told.get("alerts", {}).items()},
        branches={name: BranchPosition(**position) for name, position in told.get("branches", {}).items()},
        closed_before=told.get("closed_before", {}),
        schemas=told.get("schemas", {}),
        changelog_id=told.get("changelog_id", ""),
        tasks=told.get("tasks", 0),
        closing_partitions=told.get("closing_partitions", 0),
    )


def _document(value: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        raise _no_marker(value)
    return document


def _no_marker(value: bytes) -> LayoutError:
    return LayoutError(f"a value of {len(value)} bytes ({value[:8].hex()}…) is no marker")


def _input(told: dict[str, Any], former_rules: Sequence[dict[str, Any]]) -> InputPosition:
    """`former_rules`: those of layout 2, for all inputs."""
    skews = tuple(map(read_skew, told.pop("skews", former_rules)))
    lost = tuple(OffsetRange(**gap) for gap in told.pop("lost", ()))
    return InputPosition(skews=skews, lost=lost, **told)


def read_skew(told: Mapping[str, Any]) -> SkewEpoch:
    """An epoch of a source, as JSON tells it."""
    refuses = tuple(Refusing(**one) for one in told.get("refuses", ()))
    return SkewEpoch(told["from_offset"], told["skew_seconds"], refuses)


def _view(told: dict[str, Any]) -> ViewPosition:
    told.pop("expired_below_us", None)  # layout 1 had it, and never set it
    built = {topic: BuildPosition(**position) for topic, position in told.pop("built", {}).items()}
    graces = {topic: tuple(GraceEpoch(**e) for e in epochs) for topic, epochs in told.pop("graces", {}).items()}
    again = told.pop("corrections_again", None)
    again = None if again is None else OffsetRange(**again)
    told.pop("former_names", None)  # markers of layout 8 had it for a while
    return ViewPosition(built=built, graces=graces, corrections_again=again, **_position(told))


def _position(told: dict[str, Any]) -> dict[str, Any]:
    """The fields of a view's, a join's or an alert's position."""
    return told | {"fates": {topic: Fates(**counts) for topic, counts in told["fates"].items()}}
