"""JSON schema of the zones."""

from __future__ import annotations

from app.edge.http.documents.schemas import INTEGER, NAMES, TEXT, nullable, record

_ZONE = record(
    {
        "zone": INTEGER,
        "zone_name": nullable(TEXT),
        "zone_borough": nullable(TEXT),
        "path": TEXT | {"description": "As the attribute d of an SVG path says it, in whole units of the box."},
    }
)
_BOX = record({"width": INTEGER, "height": INTEGER})
_DRAWN_AS = {"enum": ["shapes", "tiles"], "description": "Their own shapes, or squares about where they are."}
ZONES = record(
    {"data": {"type": "array", "items": _ZONE}, "meta": record({"drawn_as": _DRAWN_AS, "box": _BOX, "zones": NAMES})}
)
