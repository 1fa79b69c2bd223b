"""Markers: one more with each transaction, never back; the last covers everything, and its ledgers add up."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from app.domain.marker import Fates, Marker
from app.rides.ride import RIDES
from app.rides.views import VIEWS
from tests.drills.world.evidence import Evidence
from tests.drills.world.expected import not_equal


def differences(evidence: Evidence) -> Iterator[str]:
    for partition, history in evidence.observed.markers.items():
        yield from (f"task {partition}: {text}" for text in _of_history(history, evidence.compacted))
        if history:
            yield from (f"task {partition}: {text}" for text in _of_last(history[-1], partition, evidence))
        else:
            yield f"task {partition} has no marker"


def _of_history(history: list[Marker], compacted: bool) -> Iterator[str]:
    if not compacted and (history and history[0].sequence != 1):
        yield f"the first marker is number {history[0].sequence}"
    for before, after in itertools.pairwise(history):
        if after.sequence <= before.sequence or (after.sequence != before.sequence + 1 and not compacted):
            yield f"marker {after.sequence} follows on {before.sequence}"
        for topic, offset in before.next_offsets.items():
            if after.next_offsets[topic] < offset:
                yield f"marker {after.sequence} goes back from {topic} {offset} to {after.next_offsets[topic]}"


def _of_last(marker: Marker, partition: int, evidence: Evidence) -> Iterator[str]:
    acked = [place for place in evidence.expected.acked if place.partition == partition]
    refused = Counter(p.topic for p in evidence.expected.quarantined if p.partition == partition)
    watermarks = evidence.expected.folded(VIEWS[0]).watermarks
    for topic in (t.name for t in RIDES.topics):
        at, places = marker.inputs[topic], [p for p in acked if p.topic == topic]
        if not at.adds_up:
            yield f"{topic}: its ledger does not add up: {at}"
        told = {"decoded": at.decoded, "quarantined": at.quarantined, "not records": at.not_records}
        wanted = {"decoded": len(places) - refused[topic], "quarantined": refused[topic], "not records": 0}
        yield from not_equal(f"ledger of {topic}", wanted, told)
        if places and at.next_offset != max(p.offset for p in places) + 1:
            yield f"{topic}: the marker ends at {at.next_offset}"
        _, closed_us = next(at for place, at in evidence.closing.items() if place == (topic, partition))
        if at.watermark_us != max(watermarks.get((topic, partition), closed_us), closed_us):
            yield f"{topic}: watermark {at.watermark_us}"
    for view in VIEWS:
        folded = evidence.expected.folded(view)
        counted = {
            fate: Counter(r.topic for r in records if r.partition == partition)
            for fate, records in (("applied", folded.applied), ("late", folded.late), ("out", folded.out_of_scope))
        }
        topics = {t.name for t in RIDES.topics}
        wanted = {t: Fates(counted["applied"][t], counted["late"][t], counted["out"][t]) for t in topics}
        told_fates = {t: marker.views[view.name].fates.get(t, Fates()) for t in topics}
        yield from not_equal(f"fates in {view.name}", wanted, told_fates)
