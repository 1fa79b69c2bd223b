"""Rows of an older layout are taken over as they were; what cannot be read is refused in words."""

from __future__ import annotations

from app.base import names
from app.base.kafka.topic_admin import create_topics
from app.domain.rows import Cells, RowKey
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS
from app.topics import application_topics
from tests.drills.drill import DrillBroken
from tests.drills.faults.changelog_writer import layout_1_row, write
from tests.drills.world.field import Field
from tests.drills.world.fleet import Fleet, has_ended

ROWS = 500
MARKER_KEY = b"\x01\x02\x00\x01"


def run(field: Field) -> None:
    field.start_workers(2)
    field.let_rides_pass(1, 2)
    for worker in list(field.fleet.members):
        field.fleet.kill(worker)
    rows: dict[tuple[int, RowKey], Cells] = {
        (i % field.settings.topics.partitions, RowKey(None, (f"of layout 1, number {i}",))): (i, -i)
        for i in range(ROWS)
    }
    records = [(p, *layout_1_row(VENDOR_TRIPS, key, cells)) for (p, key), cells in rows.items()]
    write(field.settings, field.changelog, records)
    field.written_rows[VENDOR_TRIPS.name] = rows
    field.note("layout-1", rows=len(rows))
    plants = field.rng.sample(list(unreadable().items()), field.size.rounds)
    for number, (what, (key, value)) in enumerate(plants):
        _is_refused(field, number, what, key, value)
    field.fleet.keep(2)


def unreadable() -> dict[str, tuple[bytes, bytes]]:
    """Records that no version has written, or only one to come: what is wrong with each, key and value."""
    key, value = layout_1_row(VENDOR_TRIPS, RowKey(None, ("x",)), (1, 2))
    return {
        "a row's key of layout 0": (b"\x00" + key[1:], value),
        "a row's key of layout 99": (b"\x63" + key[1:], value),
        "a row's value of layout 99": (key, b"\x63" + value[1:]),
        "a row that is too short": (key, value[:-8]),
        "a marker of layout 0": (MARKER_KEY, b'{"layout": 0, "marker": {}}'),
        "a marker of layout 99": (MARKER_KEY, b'{"layout": 99, "marker": {}}'),
        "a record of kind 99": (b"\x01\x63" + key[2:], value),
    }


def _is_refused(field: Field, number: int, what: str, key: bytes, value: bytes) -> None:
    """A worker of an application whose changelog holds it ends in words."""
    settings = field.settings.model_copy(update={"app_id": f"{field.settings.app_id}-{number}"})
    create_topics(settings.kafka, application_topics(settings, RIDES.name))
    write(settings, names.changelog_topic(settings.app_id, RIDES.name), [(0, key, value)])
    fleet = Fleet(settings, field.folder / f"refused-{number}", field.note)
    try:
        worker = fleet.start()
        field.wait(lambda: has_ended(worker), f"a worker refuses {what}")
        told, code = worker.log.read_text(), worker.process.returncode
    finally:
        fleet.end()
    field.note("refused", what=what, code=code)
    if code == 0 or not ("layout" in told or "kind" in told) or "Traceback" in told:
        raise DrillBroken(f"{what}: the worker ended with {code} and these words: {told[-1_000:]}")
