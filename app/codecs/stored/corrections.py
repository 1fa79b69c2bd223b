"""Corrections and what became of them, as JSON (docs/formats.md)."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from app.domain.corrections.correction import Correction
from app.domain.records import Place
from app.domain.rows import RowKey


class CorrectionOutcome(NamedTuple):
    """What a task did about the correction at an offset of its corrections topic; `why` is None where it applied it."""

    topic: str
    partition: int
    offset: int
    why: str | None
    correction: Correction


def correction_bytes(correction: Correction) -> bytes:
    """The correction as it is sent."""
    document: dict[str, Any] = {
        "run": correction.run,
        "view": correction.view,
        "version": correction.version,
        "window_start_us": correction.key.window_start_us,
        "group": correction.key.group,
        "expected": correction.expected,
        "row": correction.row,
        "adds": [tuple(place) for place in correction.adds],
    }
    if correction.right_finals:
        document["right_finals"] = correction.right_finals
    return orjson.dumps(document)


def read_correction(value: bytes | None) -> Correction | None:
    """The correction, None if it is none."""
    try:
        return _correction(orjson.loads(value or b""))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None


def read_outcome(value: bytes | None) -> CorrectionOutcome | None:
    """An outcome, as a task wrote it; None for what no task wrote, whatever bytes these are.

    Readers pass that over: how many corrections a task has judged is in its marker, so an outcome that is missing or
    made up differs there.
    """
    try:
        told = orjson.loads(value or b"")
        why = None if told["outcome"] == "applied" else str(told["why"])
        topic, partition, offset = told["topic"], told["partition"], told["offset"]
        correction = _correction(told["correction"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    if correction is None or (type(topic), type(partition), type(offset)) != (str, int, int):
        return None
    return CorrectionOutcome(topic, partition, offset, why, correction)


def _correction(told: dict[str, Any]) -> Correction | None:
    """KeyError or TypeError if it is of another shape."""
    key = RowKey(told["window_start_us"], tuple(told["group"]))
    expected, row = (None if told[side] is None else tuple(told[side]) for side in ("expected", "row"))
    adds = tuple(Place(*place) for place in told.get("adds", ()))
    if not all(type(x) is of for p in adds for x, of in zip(p, (str, int, int), strict=True)):
        return None
    right_finals = tuple(told.get("right_finals", ()))
    if not all(type(start_us) is int for start_us in right_finals):
        return None
    correction = Correction(told["run"], told["view"], told["version"], key, expected, row, adds, right_finals)
    texts = (correction.run, correction.view, correction.version)
    return correction if all(isinstance(text, str) for text in texts) else None
