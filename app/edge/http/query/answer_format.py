"""In which format an answer is asked for: by the parameter `format`, else by the header `Accept`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.edge.formats import table
from app.edge.formats.format import Format
from app.edge.http.problems import Problem
from app.edge.http.query.parameters import FORMAT, Parameters, choice


def asked_format(parameters: Parameters, accept: Sequence[str]) -> Format:
    """The format that is named, or the accepted one of the highest quality; the first of equals.

    `accept`: the header's lines. A problem that lists what there is where none fits.
    """
    by_name = {one.name: one for one in table.FORMATS}
    if FORMAT in parameters:
        return by_name[choice(parameters, FORMAT, tuple(by_name))]
    return by_name[liked({name: one.media_type for name, one in by_name.items()}, accept)]


def liked(media_types: Mapping[str, str], accept: Sequence[str]) -> str:
    """The name of the media type of the highest quality, the first of equals. A problem that lists what there is."""
    ranges = _ranges(accept)
    best = max(media_types, key=lambda name: _quality(ranges, media_types[name]))
    if _quality(ranges, media_types[best]) == 0:
        there_are = ", ".join(f"{media_type} ({FORMAT}={name})" for name, media_type in media_types.items())
        raise Problem("not-acceptable", f"Accept: {', '.join(accept)}: there are {there_are}.")
    return best


def require_accepted(media_type: str, accept: Sequence[str]) -> None:
    """A problem where an answer that is written in one way alone is not accepted so."""
    if _quality(_ranges(accept), media_type) == 0:
        raise Problem("not-acceptable", f"Accept: {', '.join(accept)}: this is {media_type}, and nothing else.")


def _ranges(accept: Sequence[str]) -> dict[str, float]:
    return dict(_range(told) for line in accept for told in line.split(",") if told.strip())


def _range(told: str) -> tuple[str, float]:
    """A media range and its quality; all of it where none is told, or none that can be read."""
    name, *parameters = (part.strip().lower() for part in told.split(";"))
    try:
        return name, next((float(p.removeprefix("q=")) for p in parameters if p.startswith("q=")), 1.0)
    except ValueError:
        return name, 1.0


def _quality(ranges: dict[str, float], media_type: str) -> float:
    """By the narrowest range that the type is in; all types are as good where no range is told."""
    narrowest_first = media_type, f"{media_type.partition('/')[0]}/*", "*/*"
    return next((ranges[name] for name in narrowest_first if name in ranges), 0.0) if ranges else 1.0
