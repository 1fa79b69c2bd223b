"""The only broker is stopped or killed under load, and comes back seconds later; workers that end are started again."""

from __future__ import annotations

from collections.abc import Callable

from tests.drills.field import Field


def restart(field: Field) -> None:
    _take_down(field, "broker-stop", field.brokers.stop)


def kill(field: Field) -> None:
    _take_down(field, "broker-kill", field.brokers.kill)


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
        field.wait(field.fleet.own_all, "the workers share all tasks", mend=True)
