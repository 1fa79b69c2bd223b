"""Whether the registry still says of each schema id what it said when the workers read records by it."""

from __future__ import annotations

from collections.abc import Iterable

from app.codecs.avro.schema import Schemas
from app.domain.marker import Marker


def resolved_otherwise(markers: Iterable[Marker], schemas: Schemas) -> list[str]:
    """Ids that it resolves differently now, in words; `schemas` is asked for each id of the markers."""
    read = sorted({(int(number), told) for marker in markers for number, told in marker.schemas.items()})
    return [
        f"  - schema id {number} was {fingerprint}, and is {'gone' if now is None else now.fingerprint}"
        for number, fingerprint in read
        if (now := schemas[number]) is None or now.fingerprint != fingerprint
    ]
