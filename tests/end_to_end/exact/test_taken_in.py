"""Rides that are sent again and again over HTTP, to workers that are killed meanwhile, are there once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.base.setting_groups import HttpSettings
from app.base.settings import Settings
from app.rides.ride import RIDES
from tests.support.machine.fixtures import lent_world
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import assert_exact, covers
from tests.support.material.rides_in_json import rides_in_json
from tests.support.truth import records_of

REQUESTS, RIDES_EACH = 60, 25
KILLED_AFTER = (12, 30, 48)
INTAKE = {"FLAGFALL_HTTP_INTAKE": "true"}


@pytest.fixture
def taking(settings: Settings) -> Iterator[Settings]:
    taking = settings.model_copy(update={"http": HttpSettings(intake=True)})
    with lent_world(taking):
        yield taking


class Sender(threading.Thread):
    """Sends one request after another, each to whichever worker takes it, until it is answered; then once more."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        super().__init__(daemon=True)
        self._workers = workers
        self.rides = rides_in_json(0, REQUESTS * RIDES_EACH)
        self.told: list[dict[str, Any]] = []
        self.stop = threading.Event()

    def run(self) -> None:
        for number in range(REQUESTS):
            first, again = self._answer(number, 0), self._answer(number, 1)
            assert first == again
            self.told.append(first)

    def _answer(self, number: int, turn: int) -> dict[str, Any]:
        part = self.rides[number * RIDES_EACH : (number + 1) * RIDES_EACH]
        while not self.stop.is_set():
            turn += 1
            url = f"{self._workers[turn % len(self._workers)].url}/v1/rides?service=yellow"
            try:
                answer = httpx.post(url, json=part, headers={"Idempotency-Key": f"part {number}"}, timeout=patient(20))
            except httpx.HTTPError:
                continue
            if answer.is_success:
                return dict(answer.json())
            assert answer.status_code in (429, 503), answer.text
            self.stop.wait(0.05)
        raise AssertionError("it was told to stop")


def test_what_is_sent_again_while_workers_are_killed_is_there_once(taking: Settings, tmp_path: Path) -> None:
    started = [Worker(taking, tmp_path / f"worker-{number}.log", INTAKE) for number in range(2)]
    sender = Sender(started)
    try:
        wait_for(lambda: all(one.is_ready() for one in started), "both answer", started)
        sender.start()
        for turn, many in enumerate(KILLED_AFTER):
            wait_for(lambda many=many: len(sender.told) >= many, f"{many} requests are answered", seconds=120)  # type: ignore[misc]
            started[turn % 2].kill()
            started[turn % 2] = Worker(taking, tmp_path / f"again-{turn}.log", INTAKE)
        wait_for(lambda: len(sender.told) == REQUESTS, "all requests are answered", seconds=180)
        told = [place for answer in sender.told for place in answer["records"]]
        places = {
            (place["partition"], place["offset"]): ride["ride_id"]
            for place, ride in zip(told, sender.rides, strict=True)
        }
        assert {(one.partition, one.offset): one.values["ride_id"] for one in records_of(taking, RIDES)} == places
        wait_for(lambda: all(covers(taking, one) for one in started), "every ride is covered", started)
        assert_exact(taking, started)
    finally:
        sender.stop.set()
        for one in started:
            one.kill()
