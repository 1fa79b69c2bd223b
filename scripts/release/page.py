"""The list of all parts for readers."""

from __future__ import annotations

from collections.abc import Iterable

from scripts.release.part import Part, Reach

MAVEN, GENERIC = "pkg:maven/", "pkg:generic/"
NOT_LISTED = "Of what runs; what only tests and benchmarks have is not listed: docs/releasing.md."


def page(parts: Iterable[tuple[Part, str]]) -> str:
    """Every part by the way that it comes, its version and licence; then libraries that lie inside wheels."""
    told = list(parts)
    lines = ["# What flagfall consists of beside itself", "", NOT_LISTED, ""]
    for reach in Reach:
        some = sorted({(p.name, p.version, expression) for p, expression in told if p.reach is reach})
        lines += [f"## {reach.capitalize()}", "", "| part | version | licence |", "|---|---|---|"]
        lines += [f"| {name} | {version} | {expression} |" for name, version, expression in some]
        lines += [""]
    return "\n".join([*lines, *_bundled(part for part, _ in told), *_unnamed(part for part, _ in told)])


def _bundled(parts: Iterable[Part]) -> list[str]:
    holding = [f"| {part.name} | {', '.join(part.bundled)} |" for part in parts if part.bundled]
    lines = [
        "## Libraries of others inside wheels",
        "",
        "Their licences are not looked up here: docs/releasing.md.",
        "",
    ]
    return [*lines, "| wheel | files |", "|---|---|", *holding, ""]


def _unnamed(parts: Iterable[Part]) -> list[str]:
    purls = [part.purl for part in parts if part.purl.startswith((MAVEN, GENERIC))]
    unnamed = sum(purl.startswith(GENERIC) for purl in purls)
    return [
        f"Of {len(purls)} jars {unnamed} do not say what Maven calls them: `pkg:generic` in the CycloneDX list.",
        "",
    ]
