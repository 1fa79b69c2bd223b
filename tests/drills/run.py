"""One run of a drill, from an empty world to a verdict."""

from __future__ import annotations

import shutil
import time
import traceback
from pathlib import Path
from typing import Any

from app.domain.advance import Advance
from app.domain.records import Place
from app.rides.ride import RIDES
from tests.drills.checks.all_checks import all_differences
from tests.drills.drill import Drill, Size
from tests.drills.world.confirmed import confirmed_records
from tests.drills.world.evidence import Evidence
from tests.drills.world.expected import Expected
from tests.drills.world.field import Field, field_of
from tests.drills.world.load import Acked
from tests.drills.world.observed import Observed
from tests.support.clusters.brokers import Brokers
from tests.support.machine.waiting import NotInTime

MOST_DIFFERENCES = 20


def run_drill(drill: Drill, brokers: Brokers, seed: int, size: Size, folder: Path) -> dict[str, Any]:
    """The run's facts; logs stay unless `verdict` is exact, and topics, with the series' services, if it differs.

    It can be: differs; broken, if the run did not come to its end; not in time, if it waited for that in vain.
    """
    began = time.monotonic()
    facts: dict[str, Any] = {"drill": drill.name, "seed": seed}
    faults: list[dict[str, Any]] = []
    try:
        with field_of(brokers, drill, seed, size, folder) as field:
            faults = field.faults
            drill.run(field)
            field.settle()
            evidence = evidence_of(field, drill)
            found = all_differences(evidence)
            field.keeps_topics = bool(found)
            acked = len(field.load.acked) + len(field.load.unplaced)
            doubled = len(evidence.expected.acked) - acked
            facts |= {"rides": field.load.count, "acked": acked, "doubled": doubled}
    except Exception as error:  # whatever it is, the series goes on and the record tells it
        told = traceback.format_exception_only(error)
        facts |= {
            "verdict": "not in time" if isinstance(error, NotInTime) else "broken",
            "differences": ["".join(told).strip(), traceback.format_exc(limit=-3)],
        }
    else:
        facts |= {"verdict": "differs" if found else "exact", "differences": found[:MOST_DIFFERENCES]}
        if not found:
            shutil.rmtree(folder)
    return facts | {"seconds": round(time.monotonic() - began, 1), "faults": faults}


def evidence_of(field: Field, drill: Drill) -> Evidence:
    """What the checks compare."""
    advances = [Advance(*place, at, watermark_us) for place, (at, watermark_us) in field.closing.items()]
    observed = Observed(field.settings, field.fleet, field.changelog)
    log = {
        Place(topic.name, m.partition(), m.offset()): Acked(m.key(), m.value(), m.timestamp()[1])
        for topic in RIDES.topics
        for m in observed.messages(topic.name)
    }
    acked = confirmed_records(field.load.acked, field.load.unplaced, log, forgets=drill.forgets)
    expected = Expected(acked, field.load.schemas, advances)
    return Evidence(field.settings, expected, observed, field.written_rows, field.closing, drill.compacted)
