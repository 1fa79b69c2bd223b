"""The catalogue of an application: what is shipped, and what its definition file adds."""

from __future__ import annotations

from app.base.settings import Settings
from app.domain.catalogue import Catalogue
from app.rides.shipped import everything, shipped


def catalogue_of(settings: Settings) -> Catalogue:
    """Made once, at the edge, and handed down. DefinitionError naming every mistake of the definition file."""
    if settings.definitions is None:
        return shipped(settings)
    from app.definitions.read import read_definitions

    return read_definitions(settings.definitions, shipped(settings), everything(settings))
