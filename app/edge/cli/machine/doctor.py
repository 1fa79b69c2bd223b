"""`flagfall doctor`: what is missing on this machine or wrong with the cluster, and what to do."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.edge.cli.common import echo_json, json_option, load_settings
from app.edge.cli.machine.findings import Finding

if TYPE_CHECKING:
    from app.base.services.local import ServiceStatus
    from app.base.settings import Settings

GIGABYTE = 1_000_000_000
DISK_BYTES = 2 * GIGABYTE
"""Jars 350 MB while unpacking, a demo's topics and reports 300 MB, and room."""
MEMORY_BYTES = 3 * GIGABYTE
"""Broker and registry 0.6 GB, two workers 0.5 GB, Spark 1.5 GB."""
KAFKA = "kafka"
COLORS = {"ok": "green", "note": "yellow", "fault": "red"}


@click.command()
@json_option
def command(as_json: bool) -> int:
    """Say what is missing here or wrong with the cluster, and what to do. Exit 1 if something required is.

    \b
    flagfall doctor
    flagfall doctor --json
    """
    findings = list(examine(load_settings()))
    if as_json:
        echo_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            grade = click.style(f"{finding.grade:5}", fg=COLORS[finding.grade])
            click.echo(f"{grade}  {finding.subject:12}  {finding.found}")
            if finding.advice:
                click.echo(f"{'':21}{finding.advice}")
    return int(any(finding.grade == "fault" for finding in findings))


def examine(settings: Settings) -> Iterator[Finding]:
    """Every finding, from the machine outwards to the cluster. Starts nothing, and changes nothing but that numba
    makes the directories of its cache."""
    yield _python()
    yield _java()
    yield _disk(settings.data_dir)
    yield _memory()
    yield _loops()
    yield from _variables()
    yield from _definitions(settings)
    yield from _jars(settings)
    yield from _ports(settings)
    services = list(of_services(settings))
    yield from services
    if any(one.subject == KAFKA and one.grade == "ok" for one in services):
        yield from _cluster(settings)


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info[:2] < (3, 14):
        return Finding("Python", "ok", found)
    return Finding("Python", "fault", found, "3.11, 3.12 or 3.13 is needed: `make PYTHON=python3.11`.")


def _java() -> Finding:
    from app.base.services.errors import JavaNotFound
    from app.base.services.java import find_java

    try:
        java = find_java()
    except JavaNotFound as error:
        return Finding("Java", "fault", "no Java 17 to 21", str(error))
    return Finding("Java", "ok", f"{java.version}, {java.executable} ({java.origin})")


def _disk(folder: Path) -> Finding:
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    found = f"{free / GIGABYTE:.1f} GB free at {there}"
    if not os.access(there, os.W_OK):
        return Finding("disk", "fault", f"{there} cannot be written", "Set FLAGFALL_DATA_DIR.")
    if free < DISK_BYTES:
        need = f"{DISK_BYTES / GIGABYTE:.0f} GB are needed; make room or set FLAGFALL_DATA_DIR."
        return Finding("disk", "fault", found, need)
    return Finding("disk", "ok", found)


def _memory() -> Finding:
    import psutil

    available = psutil.virtual_memory().available
    found = f"{available / GIGABYTE:.1f} GB available"
    if available < MEMORY_BYTES:
        need = f"The whole demo wants {MEMORY_BYTES / GIGABYTE:.0f} GB; with less it may swap or be killed."
        return Finding("memory", "note", found, need)
    return Finding("memory", "ok", found)


def _loops() -> Finding:
    from app.codecs.kept_loops import kept_loops

    loops = kept_loops()
    if loops.place is None:
        return Finding("loops", "note", "not writable: nowhere to keep what is compiled", loops.what_to_do)
    found = f"{loops.kept} of {loops.all} are compiled and kept in {loops.place}"
    if loops.kept < loops.all:
        advice = f"The next worker compiles the others, some ten seconds. {loops.what_to_do}"
        return Finding("loops", "note", found, advice)
    return Finding("loops", "ok", found)


def _variables() -> Iterator[Finding]:
    from app.base.settings import unknown_variables

    for name in unknown_variables():
        yield Finding("settings", "note", f"{name} sets nothing", "Mistyped? See docs/services.md.")


def _definitions(settings: Settings) -> Iterator[Finding]:
    from app.definitions.load import catalogue_of
    from app.domain.errors import DefinitionError

    if settings.definitions is None:
        return
    try:
        catalogue = catalogue_of(settings)
    except DefinitionError as error:
        yield Finding("definitions", "fault", str(error), "Mend it; `flagfall views check FILE` reads it again.")
    else:
        views = f"{len(catalogue.views)} views with the shipped ones"
        yield Finding("definitions", "ok", f"{settings.definitions}: {views}")


def _jars(settings: Settings) -> Iterator[Finding]:
    from app.base.services import jars
    from app.base.services.errors import JarError

    for name in jars.SETS:
        absent = jars.missing(name, settings.cache_dir)
        if absent:
            size = sum(pin.size_bytes for pin in absent) / 1_000_000
            found = f"{name}: {len(absent)} files, {size:.0f} MB, to be fetched at first use"
            yield Finding("jars", "note", found, "Fetch them now with `flagfall services fetch`.")
            continue
        try:
            count = len(jars.jar_paths(name, settings.cache_dir))
        except JarError as error:
            yield Finding("jars", "fault", f"{name}: not as pinned", str(error))
        else:
            yield Finding("jars", "ok", f"{name}: {count} with the pinned sha256")


def _ports(settings: Settings) -> Iterator[Finding]:
    """Only those that `up` would need."""
    from app.base.services import local, processes
    from app.base.services.errors import PortInUse

    for one in local.status(settings):
        if one.state not in {"stopped", "stale"}:
            continue
        try:
            processes.check_ports(local.SERVICES[one.name].ports(settings.services))
        except PortInUse as error:
            yield Finding("ports", "fault", f"{one.name} cannot start", str(error))
        else:
            yield Finding("ports", "ok", f"{one.name}: free")


def of_services(settings: Settings) -> Iterator[Finding]:
    """Whether what is set answers, by the protocol and the password that are set."""
    from app.base.services import local

    for one in local.status(settings):
        if one.state in {"running", "elsewhere"}:
            yield _reached(settings, one)
        elif one.state == "silent":
            yield Finding(one.name, "fault", f"pid {one.pid} runs and does not answer", one.what_to_do or "")
        else:
            yield Finding(one.name, "note", one.deaths or "not running", one.what_to_do or "")


def _reached(settings: Settings, one: ServiceStatus) -> Finding:
    from app.base.services import local

    if local.SERVICES[one.name].reachable(settings):
        return Finding(one.name, "ok", f"answers at {one.address}")
    advice = "Check address, protocol and password: FLAGFALL_KAFKA_*, FLAGFALL_REGISTRY_*."
    return Finding(one.name, "fault", f"no answer from {one.address}", advice)


def _cluster(settings: Settings) -> Iterator[Finding]:
    from app.definitions.load import catalogue_of
    from app.domain.errors import DefinitionError
    from app.edge.cli.machine.doctor_cluster import cluster_findings
    from app.topics import topics

    try:
        catalogue = catalogue_of(settings)
    except DefinitionError:  # told above; the topics without it
        catalogue = None
    yield from cluster_findings(settings, topics(settings, catalogue))
