"""One more of all that newcomers add, for the tests of a process: `pytest -p tests.support.one_more`.

A view of each kind of window over rides, a source with its topic and view, and a format, as CONTRIBUTING.md says. It
must be loaded before anything reads the registries, so it changes them as it is imported; no test may import it.
"""

from __future__ import annotations

from dataclasses import replace

from app.domain.source import SourceTopic
from app.domain.windows.boundaries import Unit
from app.domain.windows.calendar import Calendar
from app.domain.windows.hopping import Hopping
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.rides import views
from app.rides.ride import RIDES

WINDOWS = (
    Tumbling("pickup_at_us", 3600),
    Session("pickup_at_us", 300),
    Hopping("pickup_at_us", 3600, 900),
    Calendar("pickup_at_us", Unit.DAY, "America/New_York"),
)
# one waits longer than all others, the rest find late what these do not
MORE_VIEWS = tuple(
    replace(views.VENDOR_TRIPS, number=60 + at, name=f"more_{window.key}", window=window, grace_seconds=grace_seconds)
    for at, (window, grace_seconds) in enumerate(zip(WINDOWS, (4 * 3600, 60, 60, 60), strict=True))
)
views.VIEWS = (*views.VIEWS, *MORE_VIEWS)

SCOOTERS = replace(RIDES, number=60, name="a_scooter", topics=(SourceTopic(60, "scooters"),), record="Scooter")
SCOOTER_TRIPS = replace(views.VENDOR_TRIPS, number=70, name="scooter_trips", source=SCOOTERS, window=WINDOWS[0])

from app.domain.catalogue import Catalogue, TaskGroup  # noqa: E402
from app.edge.formats import table  # noqa: E402
from app.rides import shipped  # noqa: E402 - it takes the views as it is imported

shipped.SOURCES = (*shipped.SOURCES, shipped.Brought(TaskGroup((SCOOTERS,), (SCOOTER_TRIPS,))))
shipped.OWN_SOURCES = (*shipped.OWN_SOURCES, SCOOTERS)
shipped.SHIPPED = Catalogue((*shipped.SHIPPED.groups, TaskGroup((SCOOTERS,), (SCOOTER_TRIPS,))))
table.FORMATS = (*table.FORMATS, table.FORMATS[0]._replace(name="more_format", media_type="application/x-more-rows"))


def pytest_report_header() -> str:
    """What is there, as every test finds it."""
    return f"views: {[view.name for view in shipped.SHIPPED.views]}, formats: {[one.name for one in table.FORMATS]}"
