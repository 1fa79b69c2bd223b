"""What a worker answers while it starts or takes over: asked again and again, and compared to the last cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import httpx

from app.edge.local.ask import Worker

ASK_SECONDS, PATIENCE_SECONDS, ANSWER_SECONDS = 0.02, 120.0, 30.0
NEWEST = "/v1/views/zone_demand/rows?limit=100&order=desc"
"""A page over all tasks: cheap, and its position tells of each of them."""
EVERYTHING = "/v1/views/zone_demand/rows?window=366d&limit=10000"
"""All rows, folded by zone: a row that is lost, doubled or of another record has another count or fingerprint."""
HELD = ("position", "watermark", "as_of", "version")
"""What of an answer's `meta` stays as it is while no ride comes."""

Found = TypeVar("Found")
Document = Mapping[str, Any]


def client_of(worker: Worker) -> httpx.Client:
    """One that keeps its connection, so that asking costs the worker little."""
    return httpx.Client(base_url=worker.url, trust_env=False, timeout=ANSWER_SECONDS)


def answered(client: httpx.Client, path: str) -> Document | None:
    """The document of a 200; None of anything else, and if nobody listens."""
    try:
        response = client.get(path)
    except httpx.TransportError:
        return None
    document: Document | None = response.json() if response.status_code == httpx.codes.OK else None
    return document


def awaited(look: Callable[[], Found | None], what: str) -> Found:
    """What `look` finds at last, looked for fifty times a second. Ends the benchmark after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := look()) is None:
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: not within {PATIENCE_SECONDS:.0f} s")
        time.sleep(ASK_SECONDS)
    return found


def differences(before: Document, after: Document) -> list[str]:
    """In words, what of rows and position is another than before: nothing, if the answers say the same."""
    told = [
        f"{name} was {before['meta'][name]}, is {after['meta'][name]}"
        for name in HELD
        if before["meta"][name] != after["meta"][name]
    ]
    then, now = ({(str(row["window"]), str(row["group"])): row for row in one["data"]} for one in (before, after))
    altered = [key for key in sorted(then.keys() | now.keys()) if then.get(key) != now.get(key)]
    return [*told, *(f"row {' '.join(key)} was {then.get(key)}, is {now.get(key)}" for key in altered)]
