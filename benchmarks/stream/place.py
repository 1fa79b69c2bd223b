"""Where a data set is benched: its broker on one core, its topic filled once, the other core for whoever reads it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from app.base.addresses import LOOPBACK
from app.base.files.own_directory import claim, empty
from app.base.kafka.administrator import admin_client
from app.base.kafka.cluster import Cluster
from app.base.kafka.producer import Producer
from app.base.kafka.topic_admin import create_topics
from app.base.service_settings import PORT_FIELDS
from app.base.services.local import supervised
from app.base.settings import Settings
from app.definitions.registered import register_schemas
from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition
from app.edge.cli.demo.place import BELOW_EPHEMERAL, free_port
from app.edge.local.lifetime import owned
from app.rides.pace import Pace
from app.rides.produce import write_rides
from app.rides.ride import RIDES, SERVICES
from app.rides.shipped import shipped
from app.topics import source_topics
from benchmarks.stream.data_sets import PARTITIONS, TOPIC, DataSet

FILLED, RUNS, MARK = "filled.json", "runs", ".flagfall-bench"
GONE_SECONDS = 30.0
INTERNAL = "__"
"""How the names of the broker's own topics begin."""


class CannotBench(FlagfallError):
    """This machine, or what is left on it, does not allow a fair run; the message says what to do."""


@dataclass(frozen=True)
class Cores:
    """Who runs where: broker, registry and this program on one core, the system under test alone on the other."""

    broker: int
    system: int

    @classmethod
    def of_this_machine(cls) -> Cores:
        """The first and the last core that this process may use. Raises CannotBench if there is but one."""
        if not hasattr(os, "sched_setaffinity"):
            raise CannotBench("processes are pinned to cores by sched_setaffinity, which only Linux has")
        usable = sorted(os.sched_getaffinity(0))
        if len(usable) < 2:
            raise CannotBench("two cores are needed: one for the broker, one for the system that is measured")
        return cls(usable[0], usable[-1])

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """This program, and what it starts in this block, runs on the broker's core."""
        usable = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.broker})
        try:
            yield
        finally:
            os.sched_setaffinity(0, usable)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """What is started in this block runs on the system's core; this program stays where it was."""
        os.sched_setaffinity(0, {self.system})
        try:
            yield
        finally:
            os.sched_setaffinity(0, {self.broker})


@dataclass(frozen=True)
class Place:
    """A data set in a topic, and all that is needed to let a system read it."""

    data_set: DataSet
    rides: int
    settings: Settings
    cores: Cores
    schema_id: int
    owner_fd: int

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.settings.kafka)


@contextlib.contextmanager
def opened(folder: Path, data_set: DataSet, rides: int, cores: Cores, tell: Callable[[str], None]) -> Iterator[Place]:
    """The data set's cluster, running and filled; stopped at the end, its data kept for the next time.

    Raises NotOurDirectory where others' files are.
    """
    claim(folder, MARK)
    shutil.rmtree(folder / RUNS, ignore_errors=True)
    if _filled(folder) != _wanted(data_set, rides):
        empty(folder, MARK)
    settings = _settings(folder.resolve())
    with cores.held(), supervised(settings), owned() as owner_fd:
        os.environ.update(settings.environment())
        ids = register_schemas(settings, shipped(settings).sources)
        create_topics(settings.kafka, source_topics(settings, RIDES))
        delete_topics_of_runs(settings)
        if _filled(folder) is None:
            _fill(settings, data_set, rides, ids[TOPIC.name], tell)
            (folder / FILLED).write_text(json.dumps(_wanted(data_set, rides)))
        yield Place(data_set, rides, settings, cores, ids[TOPIC.name], owner_fd)


def delete_topics_of_runs(settings: Settings) -> None:
    """Remove what a run has made, so that the next finds the broker as this one did: rides alone."""
    admin = admin_client(settings.kafka)
    kept = {topic.name for topic in source_topics(settings, RIDES)}
    there = admin.list_topics(timeout=GONE_SECONDS).topics
    names = [name for name in there if name not in kept and not name.startswith(INTERNAL)]
    if not names:
        return
    for future in admin.delete_topics(names, operation_timeout=GONE_SECONDS).values():
        future.result(GONE_SECONDS)


def any_port() -> int:
    """A free one; not those of `flagfall services` and its workers, which somebody may start meanwhile."""
    return free_port(random.choice(BELOW_EPHEMERAL))


def _wanted(data_set: DataSet, rides: int) -> dict[str, int | str]:
    return {"data_set": data_set.name, "rides_per_day": data_set.rides_per_day, "rides": rides}


def _filled(folder: Path) -> dict[str, int | str] | None:
    try:
        found: dict[str, int | str] = json.loads((folder / FILLED).read_text())
    except FileNotFoundError:
        return None
    return found


def _fill(settings: Settings, data_set: DataSet, rides: int, schema_id: int, tell: Callable[[str], None]) -> None:
    places = [TopicPartition(TOPIC.name, partition) for partition in range(PARTITIONS)]
    if any(Cluster(settings.kafka).log_ends(places, committed=False).values()):
        raise CannotBench(f"{settings.data_dir} was filled half: remove it and begin again")
    began = time.monotonic()
    frames = (frame.with_columns(service=_one_service()) for frame in data_set.frames(rides))
    write_rides(
        Producer(settings.kafka),
        {TOPIC.name: schema_id},
        frames,
        Pace(None),
        lambda written: tell(f"{data_set.name}: {written.total:,} of {rides:,} rides written"),
    )
    ends = sum(Cluster(settings.kafka).log_ends(places, committed=True).values())
    if ends != rides:
        raise CannotBench(f"{ends:,} records are in {TOPIC.name} instead of {rides:,}")
    tell(f"{data_set.name}: {rides:,} rides in {TOPIC.name} after {time.monotonic() - began:.0f} s")


def _one_service() -> pl.Expr:
    """All rides as rides of the one topic's service."""
    (service,) = (name for name, topic in SERVICES.items() if topic == TOPIC.name)
    return pl.lit(service)


def _settings(data_dir: Path) -> Settings:
    ports = {name: any_port() for name in PORT_FIELDS if name != "sasl_port"}
    return Settings.load(
        app_id="bench",
        data_dir=data_dir,
        services={**ports, "sasl_port": None},
        topics={"partitions": PARTITIONS},
        kafka={"bootstrap_server": f"{LOOPBACK}:{ports['kafka_port']}", "security_protocol": "PLAINTEXT"},
        registry_url=f"http://{LOOPBACK}:{ports['registry_port']}/apis/ccompat/v7",
    )
