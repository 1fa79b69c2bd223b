"""What else reaches a worker than rides: schemas from the registry, requests to raise watermarks, HTTP."""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson
import psutil

from app.base import names
from app.base.addresses import LOOPBACK
from app.base.kafka.producer import Producer
from app.base.settings import Settings
from app.codecs.stored.advance_requests import encode_request
from app.domain.advance import Advance, AdvanceRequest
from app.domain.oracle.view_fold import fold
from app.rides.closing import closing_watermark_us
from app.rides.ride import RIDES
from app.rides.views import VIEWS
from tests.support.flow import exported
from tests.support.machine.cluster import write_rides
from tests.support.machine.ports import free_ports
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import FAUST, FLAGFALL, Worker, environment_of
from tests.support.machine.world import assert_exact, assert_ledgers, covers, markers, messages, ready_worker
from tests.support.material.histories import START_US
from tests.support.truth import log_ends, records_of


def test_while_the_registry_is_down_tasks_wait_and_nothing_is_quarantined(world: Settings, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    write_rides(world, 0, 2_000)
    away = world.model_copy(update={"registry_url": f"http://{LOOPBACK}:{port}/apis/ccompat/v7"})
    with ready_worker(away, tmp_path) as waiting:
        wait_for(lambda: "schema ids are waited for" in waiting.log.read_text(), "the worker asks in vain", [waiting])
        assert waiting.is_ready()
        assert not covers(world, waiting)
        assert "flagfall_schemas_awaited 1.0" in waiting.get("/metrics").text
        assert "flagfall_topic_settings_differing 0.0" in waiting.get("/metrics").text
        (awaited,) = waiting.get("/readyz").json()["awaited_schemas"]["longest"]
        assert str(port) in awaited["why"]
        with _forwarding(port, world.registry_url):
            wait_for(lambda: covers(world, waiting), "the rides are counted when it is back", [waiting])
        assert waiting.get("/readyz").json()["awaited_schemas"] == {"count": 0, "longest": []}
        assert messages(world, names.quarantine_topic(world.app_id)) == []
        assert_exact(world, [waiting])


def test_a_watermark_raised_by_hand_makes_what_comes_after_it_late(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 2_000)
    with ready_worker(world, tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride is covered", [running])
        to = dt.datetime(2026, 1, 20, 12, tzinfo=dt.UTC)
        done = subprocess.run(
            [FLAGFALL, "advance", "--to", to.isoformat()],
            env=os.environ | environment_of(world),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        places = len(RIDES.topics) * world.topics.partitions
        wait_for(lambda: len(_ride_advances(world)) >= places, "each is raised", [running])
        advances = _ride_advances(world)
        assert len(advances) == places
        raised_to = closing_watermark_us(round(to.timestamp() * 1000), VIEWS)
        assert {a.watermark_us for a in advances} == {raised_to}
        assert {(a.topic, a.partition): a.at_offset for a in advances} == log_ends(world, RIDES)
        assert all(at.watermark_us == raised_to for p in range(4) for at in _ride_inputs(world, p))

        write_rides(world, 2_000, 500)
        wait_for(lambda: covers(world, running), "later rides are covered", [running])
        records = records_of(world, RIDES)
        for view in VIEWS:
            folded = fold(view, records, advances)
            expected = {(p, key): cells for p, rows in folded.rows.items() for key, cells in rows.items()}
            assert exported(view, [running], world.topics.partitions) == expected
        late = fold(VIEWS[0], records, advances).late
        assert len(late) > 400
        assert len(messages(world, names.late_topic(world.app_id))) == len(late)
        assert_ledgers(markers(world, 0)[-1])


def test_requests_that_cannot_be_met_change_no_answer_and_hold_up_no_other(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 400)
    requests = names.advance_requests_topic(world.app_id, RIDES.name)
    good_us = START_US + 10**12
    flaws: dict[str, bytes | None] = {
        "undecodable": b"\xff",
        "out_of_bounds:topic": encode_request(AdvanceRequest("rides.blue", 0, good_us)),
        "out_of_bounds:watermark_us": encode_request(AdvanceRequest("rides.yellow", 0, good_us * 1000)),
        "unreachable_offset": encode_request(AdvanceRequest("rides.yellow", 0, good_us, 10**12)),
    }
    producer = Producer(world.kafka)
    values = [*flaws.values(), encode_request(AdvanceRequest("rides.yellow", 0, good_us))]
    producer.send(requests, values, [None] * len(values), [time.time_ns() // 1_000_000] * len(values), 0)
    producer.finish()
    with ready_worker(world, tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride is covered", [running])
        wait_for(lambda: len(messages(world, names.advances_topic(world.app_id))), "the good one is taken", [running])
        (taken,) = messages(world, names.advances_topic(world.app_id))
        assert orjson.loads(taken.value())["watermark_us"] == good_us
        refused = messages(world, names.quarantine_topic(world.app_id))
        assert [dict(m.headers())["flagfall-reason"].decode() for m in refused] == [*flaws]
        for view in VIEWS:
            assert running.get(f"/v1/views/{view.name}/rows").status_code == 200
        assert_ledgers(markers(world, 0)[-1])


def test_plain_faust_starts_it_and_generic_variables_change_nothing(world: Settings, tmp_path: Path) -> None:
    (port, other) = free_ports(2)
    generic = {
        "BROKER_URL": f"kafka://{LOOPBACK}:{other}",
        "WEB_PORT": str(other),
        "WEB_BIND": "0.0.0.0",
        "WEB_ENABLED": "true",
        "APP_ID": "somebody-else",
        "PROCESSING_GUARANTEE": "exactly_once",
    }
    environment = os.environ | environment_of(world) | generic | {"FLAGFALL_WORKER_HTTP_PORT": str(port)}
    listing = [
        subprocess.Popen([FAUST, "-A", "app.edge.worker", what], env=environment, stdout=subprocess.PIPE, text=True)
        for what in ("agents", "tables")
    ]
    plain = [FAUST, "-A", "app.edge.worker", "worker", "-l", "info"]
    started = Worker(world, tmp_path / "faust.log", generic, command=plain, port=port)
    try:
        wait_for(started.is_ready, "the worker answers", [started])
        write_rides(world, 0, 200)
        wait_for(lambda: covers(world, started), "every ride is covered", [started])
        assert _listening(started) == {(LOOPBACK, port)}
        assert "Traceback" not in started.log.read_text()
        assert started.stop() == 0
    finally:
        started.kill()
    agents, tables = (one.communicate(timeout=patient(60))[0] for one in listing)
    assert [one.returncode for one in listing] == [0, 0]
    assert "fold_rides" in agents
    assert "rides" in tables
    assert all(view.name in tables for view in VIEWS)


def test_the_log_says_in_few_lines_what_was_taken_over(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 1_000)
    with ready_worker(world, tmp_path, "first") as first:
        wait_for(lambda: covers(world, first), "every ride is covered", [first])
        assert first.stop() == 0
    with ready_worker(world, tmp_path, "second") as second:
        assert _listening(second) == {(LOOPBACK, second.port)}
        assert second.stop() == 0
    ends = log_ends(world, RIDES)
    said = second.log.read_text()
    for partition in range(world.topics.partitions):
        line = re.search(rf"task {partition}: ([\d,]+) changelog records read, ([\d,]+) rows, goes on at (.*)", said)
        assert line, said
        assert f"rides.yellow {ends['rides.yellow', partition]}" in line[3]
    assert "tasks 0, 1, 2, 3 taken over" in said
    assert "ready: 0, 1, 2, 3 of 4 tasks here" in said
    assert "Traceback" not in said


def _ride_advances(world: Settings) -> list[Advance]:
    """Those of rides: the command raises every other source's watermarks, too."""
    told = [orjson.loads(m.value()) for m in messages(world, names.advances_topic(world.app_id))]
    topics = {topic.name for topic in RIDES.topics}
    return [
        Advance(one["topic"], one["partition"], one["at_offset"], one["watermark_us"])
        for one in told
        if one["topic"] in topics
    ]


def _ride_inputs(world: Settings, partition: int) -> list:
    marker = markers(world, partition)[-1]
    return [at for topic, at in marker.inputs.items() if topic.startswith("rides.")]


def _listening(started: Worker) -> set[tuple[str, int]]:
    return {
        (connection.laddr.ip, connection.laddr.port)
        for connection in psutil.Process(started.process.pid).net_connections("all")
        if connection.status == psutil.CONN_LISTEN
    }


@contextmanager
def _forwarding(port: int, registry_url: str) -> Iterator[None]:
    """Another address of the registry: what is asked there is asked of it."""
    root = registry_url.removesuffix("/apis/ccompat/v7")

    class Forward(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                with urllib.request.urlopen(root + self.path) as answer:
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, body = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer((LOOPBACK, port), Forward) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield
        finally:
            server.shutdown()
            serving.join()
