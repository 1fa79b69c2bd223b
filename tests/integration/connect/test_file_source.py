"""A file of rides comes in by Connect's file source and the Faust program of docs/connect.md: each ride once."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka.admin import AdminClient

from app.base.kafka.clients import librdkafka_options
from app.base.services import connect, local
from app.base.settings import Settings
from app.rides.ride import RIDES
from scripts.gate.parent import ends_with_parent
from tests.integration.connect.asking import asked, begin
from tests.support.machine.asking import results
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import FAUST
from tests.support.machine.world import ready_worker
from tests.support.material.rides_in_json import rides_in_json
from tests.support.truth import cluster_of, read, records_of

PAGE = (Path(__file__).parents[3] / "docs" / "connect.md").read_text("utf-8")
(PROGRAM,) = re.findall(r"^```python\n(# csv_rides\.py\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TOPIC = "imports.csv"
COLUMNS = ("ride_id", "pickup_at_us", "dropoff_at_us", "pickup_zone", "fare_cents", "total_cents")
SENT = rides_in_json(0, 80)


def append(file: Path, rides: Sequence[dict[str, Any]]) -> None:
    with file.open("a", newline="") as held:
        csv.writer(held).writerows([ride[name] for name in COLUMNS] for ride in rides)


def lines(settings: Settings) -> list[dict[str, str]]:
    if TOPIC not in cluster_of(settings.kafka).topic_names(TOPIC):
        return []
    return [json.loads(message.value()) for message in read(settings, TOPIC, 0)]


def taken(settings: Settings) -> Counter[str]:
    return Counter(str(record.values["ride_id"]) for record in records_of(settings, RIDES))


@contextmanager
def program(settings: Settings, folder: Path, worker: str) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "csv_rides.py").write_text(PROGRAM, "utf-8")
    environment = {"BROKER": f"kafka://{settings.kafka.bootstrap_server}", "WORKER": worker, "PYTHONPATH": str(folder)}
    command = [FAUST, "-A", "csv_rides", "worker", "--without-web", "-l", "info"]
    with (folder / "faust.log").open("ab") as log:
        started = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | environment,
            stdout=log,
            stderr=log,
            preexec_fn=ends_with_parent(signal.SIGKILL),  # noqa: PLW1509 - it takes no lock
        )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def test_lines_that_are_appended_come_once_through_kill_9_of_connect_and_of_the_program(
    connected: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "rides.csv"
    file.write_text(f"{','.join(COLUMNS)}\n")
    append(file, SENT[:40])
    begin(connected, json.loads(asked("source", str(file), "--topic", TOPIC)))
    wait_for(lambda: len(lines(connected)) >= 41, "the lines have come")
    (pid,) = (one.pid for one in local.status(connected) if one.name == connect.NAME)
    with ready_worker(connected, tmp_path) as worker:
        with program(connected, tmp_path, worker.url):
            wait_for(lambda: len(taken(connected)) > 0, "the first rides are taken", [worker])
        psutil.Process(pid).kill()
        append(file, SENT[40:])
        with program(connected, tmp_path, worker.url):
            wait_for(lambda: len(taken(connected)) >= len(SENT), "all rides are taken", [worker])
    held = lines(connected)
    with file.open("a") as appended:
        appended.write("a line of more than two thousand\n" * 2_005)
    wait_for(lambda: len(lines(connected)) >= len(held) + 2_005, "the lines behind two thousand have come")
    assert [one["line"].split(",")[0] for one in held] == ["ride_id", *(ride["ride_id"] for ride in SENT)]
    assert {one["file"] for one in held} == {"rides.csv"}
    assert taken(connected) == Counter(ride["ride_id"] for ride in SENT)
    admin = AdminClient(librdkafka_options(connected.kafka))
    made = [name for name in admin.list_topics(timeout=10).topics if name == TOPIC or name.startswith("csv-rides")]
    results(admin.delete_topics(made).values(), "the topics of the file and of the program are gone")
