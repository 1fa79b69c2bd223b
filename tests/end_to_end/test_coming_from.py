"""Every block of code on the pages for who comes from elsewhere: run as it stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.definitions.load import catalogue_of
from app.rides.views import ZONE_DEMAND
from tests.support.machine.asking import flush, results
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import FAUST, Worker, environment_of, flagfall
from tests.support.machine.world import covers, ready_worker
from tests.support.truth import cluster_of, read

PAGES = Path(__file__).parents[2] / "docs" / "coming-from"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOOR = "http://127.0.0.1:18081"
PARTITIONS = 4
RIDES = [(str(number % 3), 10.0 * (number % 7), number * 5) for number in range(300)]
"""Vendor, amount, and in which second they came."""
BEGAN = int(time.time()) // 60 * 60 - 1_800
"""Their first second: Faust drops windows by the clock on the wall."""


class Block(NamedTuple):
    page: str
    kind: str
    text: str


def blocks(kind: str) -> list[Block]:
    found = [Block(p.stem, *one) for p in sorted(PAGES.glob("*.md")) for one in BLOCK.findall(p.read_text("utf-8"))]
    assert {one.kind for one in found} == {"toml", "bash", "python"}
    return [one for one in found if one.kind == kind]


@pytest.fixture
def defined(world: Settings, tmp_path: Path) -> Settings:
    """With every view of the pages."""
    file = tmp_path / "definitions.toml"
    file.write_text("\n".join(one.text for one in blocks("toml")), "utf-8")
    return world.model_copy(update={"definitions": file})


def test_what_is_declared_and_typed_there_does_what_it_says(defined: Settings, tmp_path: Path) -> None:
    for made in (flagfall(defined, "topics", "create"), flagfall(defined, "zones", "publish")):
        assert made.returncode == 0, made.stderr
    write_rides(defined, 0, 2_000)
    with ready_worker(defined, tmp_path) as one:
        views = [ZONE_DEMAND, *catalogue_of(defined).views]
        wait_for(lambda: all(covers(defined, one, view) for view in views), "all rides are covered", [one])
        for block in blocks("bash"):
            assert typed(block, defined, one).strip(), f"{block} says nothing"
        (by_borough,) = (block for block in blocks("python") if block.page == "spark")
        wait_for(lambda: "Manhattan" in typed(by_borough, defined, one), "boroughs are named", [one])


def typed(block: Block, settings: Settings, started: Worker) -> str:
    """What it prints, in a shell or in Python; DOOR is the worker's."""
    text = block.text.replace(DOOR, started.url)
    command = [sys.executable, "-c", text] if block.kind == "python" else ["bash", "-euc", text]
    ours = environment_of(settings) | {"FLAGFALL_WORKER_HTTP_PORT": str(started.port), "WORKER": started.url}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        command,
        env=os.environ | ours | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=False,
    )
    assert ran.returncode == 0, f"{block}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def counts(settings: Settings, topic: str) -> Mapping[str, Any]:
    """The latest value of each key of a changelog; of none that is not there yet."""
    if topic not in cluster_of(settings.kafka).topic_names(topic):
        return {}
    held = (message for partition in range(PARTITIONS) for message in read(settings, topic, partition))
    return {message.key().decode(): json.loads(message.value()) for message in held}


def amounts(settings: Settings, topic: str) -> list[float]:
    held = (message for partition in range(PARTITIONS) for message in read(settings, topic, partition))
    return sorted(json.loads(message.value())["total_amount"] for message in held)


def by_vendor(settings: Settings) -> bool:
    return counts(settings, "course-vendors-trips-changelog") == Counter(f'"{vendor}"' for vendor, _, _ in RIDES)


def by_amount(settings: Settings) -> bool:
    told = [sorted(amount for _, amount, _ in RIDES if (amount >= 40) is high) for high in (True, False)]
    return [amounts(settings, topic) for topic in ("course.high", "course.low")] == told


def by_minute(settings: Settings) -> bool:
    told = Counter((vendor, BEGAN + second // 60 * 60) for vendor, _, second in RIDES)
    found = {
        (vendor, round(begin)): count
        for key, count in counts(settings, "course-minutes-trips-changelog").items()
        for vendor, (begin, _) in [json.loads(key)]
    }
    return found == told


@pytest.mark.parametrize(
    ("module", "is_right"), [("vendor_trips", by_vendor), ("by_amount", by_amount), ("vendor_minutes", by_minute)]
)
def test_the_programs_of_the_course_run_in_faust(
    settings: Settings, tmp_path: Path, module: str, is_right: Callable[[Settings], bool]
) -> None:
    (text,) = (block.text for block in blocks("python") if block.text.startswith(f"# {module}.py\n"))
    (tmp_path / f"{module}.py").write_text(text, "utf-8")
    with course_rides(settings), faust_worker(settings, tmp_path, module) as started:
        wait_for(lambda: started.poll() is not None or is_right(settings), f"{module} has counted all", seconds=90)
        assert started.poll() is None, (tmp_path / "faust.log").read_text()


@contextmanager
def course_rides(settings: Settings) -> Iterator[None]:
    """In JSON, as a course has them."""
    admin = AdminClient(librdkafka_options(settings.kafka))
    names = ["course.rides", "course.high", "course.low"]
    results(admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values(), "topics are made")
    producer = Producer(librdkafka_options(settings.kafka))
    for vendor, amount, second in RIDES:
        value = {"vendor": vendor, "total_amount": amount, "pickup_at": BEGAN + second}
        producer.produce("course.rides", json.dumps(value))
    flush(producer)
    yield
    made = [name for name in admin.list_topics(timeout=patient(10)).topics if name.startswith("course")]
    results(admin.delete_topics(made).values(), "topics are gone")


@contextmanager
def faust_worker(settings: Settings, folder: Path, module: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"BROKER": f"kafka://{settings.kafka.bootstrap_server}", "PYTHONPATH": str(folder)}
    command: Sequence[str | Path] = [FAUST, "-A", module, "worker", "--without-web", "-l", "info"]
    with (folder / "faust.log").open("wb") as log:
        started = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield started
    finally:
        started.kill()
        started.wait()
