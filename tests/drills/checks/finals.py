"""Final results: one per window and group that every task has closed, merged over the tasks, once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Message

from app.base import names
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.view import View
from app.rides.shipped import SHIPPED
from tests.drills.world.evidence import Evidence
from tests.drills.world.expected import not_equal


def differences(evidence: Evidence) -> Iterator[str]:
    for view in SHIPPED.finals:
        topic, expected = names.finals_topic(view.name), _expected(view, evidence)
        if not expected:
            yield f"{topic}: nothing is expected, so nothing was drilled"
        messages = evidence.observed.at_least(topic, len(expected))
        found = {_key(view, message): tuple(_value(message)["cells"]) for message in messages}
        yield from not_equal(topic, expected, found)
        twice = [key for key, times in Counter(_key(view, m) for m in messages).items() if times > 1]
        if twice:
            yield f"{topic}: {len(twice)} are there more than once, such as {min(twice, key=repr)}"
        if any(_value(message)["revision"] for message in messages):
            yield f"{topic}: a revision, though nothing was corrected"


def _expected(view: View, evidence: Evidence) -> dict[RowKey, Cells]:
    closed_to_us = min(watermark_us for _, watermark_us in evidence.closing.values()) - view.grace_us
    rows: dict[RowKey, list[Cells]] = defaultdict(list)
    for (_, key), cells in (evidence.expected.rows(view) | evidence.written_rows.get(view.name, {})).items():
        if key.window_start_us is not None and view.window.end(key.window_start_us) <= closed_to_us:
            rows[key].append(cells)
    return {key: merge_rows(view, of_tasks) for key, of_tasks in rows.items()}


def _key(view: View, message: Message) -> RowKey:
    key = json.loads(message.key())
    return RowKey(key["window_start_us"], tuple(key[group.name] for group in view.groups))


def _value(message: Message) -> dict[str, Any]:
    return dict(json.loads(message.value()))
