"""What the worker's translator makes of a row's records afterwards is the row that it made of them, and that of the
rules."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from app.domain.difference import RowPlace
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.view import View
from app.engine.core.views.again import row_again
from tests.support.material.histories import TOPIC_NAMES, random_advances, random_log
from tests.support.material.views import ALL_VIEWS
from tests.support.naming.plain import PlainEvidence


@given(seed=st.integers(0, 2**32), view=st.sampled_from(ALL_VIEWS))
def test_a_row_asked_again_is_the_row(seed: int, view: View) -> None:
    rng = random.Random(seed)
    logs = [random_log(rng, topic, partition, 40) for topic in TOPIC_NAMES[:2] for partition in (0, 1)]
    records, advances = [record for log in logs for record in log.records], random_advances(rng, logs)
    evidence = PlainEvidence.of_log(view, records, advances)
    again = {place: row_again(view, _records(evidence, place)) for place, held in evidence.held.items() if held.applied}
    folded = fold(view, records, advances)
    assert again == {(task, key): cells for task, rows in folded.rows.items() for key, cells in rows.items()}
    assert evidence.rows == again


def _records(evidence: PlainEvidence, place: RowPlace) -> list[Record]:
    return [evidence.known[origin].record for origin in evidence.held[place].applied]
