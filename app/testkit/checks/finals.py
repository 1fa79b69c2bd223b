"""Final rows of every window that all tasks have closed: once each, merged over tasks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.base import names
from app.domain.fingerprint import as_hex
from app.domain.oracle.view_fold import final_rows
from app.domain.rows import RowKey, last_of
from app.domain.view import View
from app.testkit.checks.written import Settled, multiset_problems, written
from app.testkit.simulation.world import World


def final_problems(world: World, settled: Settled, view: View) -> Iterator[str]:
    """Finals of every window that all tasks have closed, once each, as all their rows together say."""
    closed = [state.marker.views[view.name].closed_to_us for state, _ in settled]
    rows = [expected.view(view).folded.rows[expected.marker.partition] for _, expected in settled]
    ended = {} if None in closed else final_rows(view, rows, min(to_us for to_us in closed if to_us is not None))
    finals = Counter(_final(view, key, cells) for key, cells in ended.items())
    world.workers.tally["finals"] += len(ended)
    world.workers.tally["finals that merged"] += len(ended) if view.window.merges else 0
    told = (json.loads(value) for _, value, _ in written(world, names.finals_topic(view.name)).elements())
    mine = (document for document in told if document["version"] == view.version)
    found = Counter(_final(view, _key_of(view, document), document["cells"], document) for document in mine)
    yield from multiset_problems(f"final of {view.name}", finals, found)


def _key_of(view: View, document: Mapping[str, Any]) -> RowKey:
    return RowKey(document["window_start_us"], tuple(document[group.name] for group in view.groups))


def _final(view: View, key: RowKey, cells: Sequence[int], told: Mapping[str, Any] | None = None) -> Any:
    count, fingerprint = (cells[0], as_hex(cells[1])) if told is None else (told["count"], told["fingerprint"])
    shown = view.present(cells) if told is None else {name: told[name] for name in view.present(cells)}
    end_us = view.window.window_end(key.window_start_us or 0, last_of(view, cells))
    return key, end_us if told is None else told["window_end_us"], tuple(cells), count, fingerprint, str(shown)
