"""The list of all parts, as CycloneDX has it: the same text for the same commit and parts."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.spdx import is_supported_id
from packageurl import PackageURL

from scripts.release.archives import Commit
from scripts.release.part import Part, Reach

COMMIT, BUNDLED = "flagfall:commit", "flagfall:bundled"
"""Names of properties: of the list, and of a part."""


def sbom(commit: Commit, parts: Iterable[tuple[Part, str]]) -> str:
    """JSON of CycloneDX 1.6; `parts` with their licences. What is only fetched where it is wanted is optional."""
    own = Component(
        name="flagfall",
        version=commit.version,
        type=ComponentType.APPLICATION,
        bom_ref="flagfall",
        purl=PackageURL("pypi", None, "flagfall", commit.version),
        licenses=[_licence("Apache-2.0")],
    )
    others = [_component(part, licence) for part, licence in parts]
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"flagfall@{commit.id}"), components=others)
    bom.metadata.component = own
    bom.metadata.timestamp = datetime.fromtimestamp(commit.epoch, UTC)
    bom.metadata.properties = [Property(name=COMMIT, value=commit.id)]
    bom.register_dependency(own, others)
    return str(make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1))


def commit_of(path: Path) -> str | None:
    """The commit that a list of parts is of; None where there is no list that says so."""
    try:
        told = json.loads(path.read_text())["metadata"]["properties"]
        return next((one["value"] for one in told if one["name"] == COMMIT), None)
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None


def _licence(expression: str) -> DisjunctiveLicense | LicenseExpression:
    """One id is told as such; all else is an expression, with names of our own (`LicenseRef-…`) too."""
    return DisjunctiveLicense(id=expression) if is_supported_id(expression) else LicenseExpression(expression)


def _component(part: Part, licence: str) -> Component:
    return Component(
        name=part.name,
        version=part.version or None,
        type=ComponentType.LIBRARY,
        bom_ref=part.purl,
        purl=PackageURL.from_string(part.purl),
        scope=ComponentScope.REQUIRED if part.reach is Reach.SHIPPED else ComponentScope.OPTIONAL,
        licenses=[_licence(licence)],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else [],
        properties=[Property(name=BUNDLED, value=name) for name in part.bundled],
    )
