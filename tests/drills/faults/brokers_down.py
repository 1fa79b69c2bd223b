"""The only broker is stopped, killed, or without room under load, then back; workers that end are started again."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.drills.world.field import Field


def restart(field: Field) -> None:
    _take_down(field, "broker-stop", field.brokers.stop)


def kill(field: Field) -> None:
    _take_down(field, "broker-kill", field.brokers.kill)


def fill(field: Field) -> None:
    _take_down(field, "disk-full", field.brokers.fill)


def _take_down(field: Field, name: str, take_down: Callable[[], None]) -> None:
    field.start_workers(2)
    for _ in range(field.size.rounds):
        field.let_rides_pass(1, 3)
        field.note(name)
        take_down()
        try:
            field.pause(0, 6)
        finally:
            field.brokers.start()
        field.note("broker-start")
        began = time.monotonic()
        field.wait(field.fleet.own_all, "the workers share all tasks", mend=True)
        field.note("goes-on", after_seconds=round(time.monotonic() - began, 1))
