"""Events and bills for joins, at minutes of a day."""

from __future__ import annotations

from typing import Any

from tests.support.material.pairing.calls import SECOND_US, START_US


def at(second: float) -> int:
    return START_US + round(second * SECOND_US)


def event(what: str, second: float, name: str = "a", *, sent: float | None = None, place: int | None = None) -> Any:
    sent_us = at(second if sent is None else sent)
    return {"call_id": name, "what": what, "at_us": at(second), "sent_at_us": sent_us, "place": place}


def bill(second: float, name: str = "a", cents: int = 5) -> Any:
    return {"call_id": name, "billed_at_us": at(second), "cents": cents}
