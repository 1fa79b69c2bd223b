"""The jars that Spark, Kafka, the registry and Connect consist of: PySpark's own, and those that are pinned."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pyspark

from app.base.services.jars import CONNECT_SETS, SETS, fetch
from app.base.settings import Settings
from scripts.release.coordinates import generic, name_of, purl
from scripts.release.part import Part, Reach

SHIPPED_SET = "spark"
POM = re.compile(r"META-INF/maven/.*/pom\.xml$")
TEXT = re.compile(r"(META-INF/)?(LICEN[CS]E|license)[^/]*$")
BUNDLE = re.compile(r"^Bundle-License: (.*)$", re.MULTILINE)
FIRST_WORDS = 120


def jars(settings: Settings) -> list[Part]:
    """Those of the image, then those that are fetched; each set is fetched first. Raises JarError."""
    found = dict[str, Part]()
    for path in sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar")):
        add(found, path, Reach.SHIPPED)
    for name in (SHIPPED_SET, *(one for one in (*SETS, *CONNECT_SETS) if one != SHIPPED_SET)):
        reach = Reach.SHIPPED if name == SHIPPED_SET else Reach.FETCHED
        for path in _files(fetch(name, settings.cache_dir)):
            add(found, path, reach)
    return list(found.values())


def _files(fetched: list[Path]) -> Iterator[Path]:
    for path in fetched:
        yield from sorted(path.rglob("*.jar")) if path.is_dir() else [path]


def add(found: dict[str, Part], path: Path, reach: Reach) -> None:
    """Once, the way that came first. Other bytes under the same coordinates are somebody's own: by their sum."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    part = Part(*name_of(path), purl(path, digest), reach, told_in(path), digest)
    if found.setdefault(part.purl, part).sha256 != digest:
        own = part._replace(purl=generic(path, digest))
        found.setdefault(own.purl, own)


def told_in(path: Path) -> tuple[tuple[str, ...], ...]:
    """Licences that a jar's own descriptions name; else how its licence's text begins; nothing where neither is.

    Several of one description are a choice, by Maven's reference of the POM; manifests repeat what a POM says.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        named = [_of_pom(archive.read(name)) for name in names if POM.match(name)]
        named += [_of_manifest(archive)] if "META-INF/MANIFEST.MF" in names else []
        told = {tuple(sorted({one for one in some if not TEXT.match(one)})) for some in named} - {()}
        texts = sorted((name for name in names if TEXT.match(name)), key=len)
        if not told and texts:
            told = {(" ".join(archive.read(texts[0]).decode(errors="replace").split())[:FIRST_WORDS],)}
    return tuple(sorted(told))


def _of_pom(pom: bytes) -> Iterator[str]:
    for element in ElementTree.fromstring(pom).iter():
        if element.tag.rpartition("}")[2] == "license":
            yield from (part.text.strip() for part in element if part.tag.endswith("name") and part.text)


def _of_manifest(archive: zipfile.ZipFile) -> Iterator[str]:
    """A line goes on where the next begins with a space."""
    lines = archive.read("META-INF/MANIFEST.MF").decode(errors="replace").replace("\r\n", "\n").replace("\n ", "")
    for told in BUNDLE.findall(lines):
        yield from (one.strip() for one in re.split(r",\s*(?=http|\")", told))
