"""Asking real parts: who does not answer in time is late, whatever the client's library calls it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

import httpx
import psutil
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.support.machine.waiting import NotInTime, patient

LATE = (TimeoutError, subprocess.TimeoutExpired, psutil.TimeoutExpired, httpx.TimeoutException)
UNREACHED = {KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}

T = TypeVar("T")


@contextmanager
def in_time(what: str) -> Iterator[None]:
    """What is asked within, under limits of its own; NotInTime with these words if nobody answers."""
    try:
        yield
    except LATE as late:
        raise NotInTime(f"not in time: {what}; {late!r}") from late
    except KafkaException as error:
        if error.args[0].code() not in UNREACHED:
            raise
        raise NotInTime(f"no broker is reached: {what}; {error}") from error


def results(futures: Iterable[Future[T]], what: str, seconds: float = 10.0) -> list[T]:
    """What they come to; NotInTime if one does not."""
    with in_time(what):
        return [future.result(patient(seconds)) for future in futures]


def flush(producer: Producer, seconds: float = 30.0) -> None:
    """All that was given to the producer is acknowledged, or refused; NotInTime if it is not."""
    left = producer.flush(patient(seconds))
    if left:
        raise NotInTime(f"{left} records are not acknowledged")
