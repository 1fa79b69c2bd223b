"""What a release uses that others have written."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Reach(StrEnum):
    """How a part comes to whoever runs flagfall."""

    SHIPPED = "in the image"
    FETCHED = "fetched where it is wanted"


class Part(NamedTuple):
    """A wheel or a jar.

    `told`: its licence in its author's words, by description: where one names several, whoever takes the part chooses
    among them. `sha256` is None where the lock names several; `bundled`: files of libraries by others that lie beside
    a wheel's packages."""

    name: str
    version: str
    purl: str
    reach: Reach
    told: tuple[tuple[str, ...], ...]
    sha256: str | None = None
    bundled: tuple[str, ...] = ()
