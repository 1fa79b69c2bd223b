"""The kinds of windows there are. A kernel of each stands in the worker's registry and in Spark's."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.windows.all_time import AllTime
from app.domain.windows.calendar import Calendar
from app.domain.windows.contract import Window
from app.domain.windows.hopping import Hopping
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling

KINDS: Mapping[str, type[Window]] = {kind.key: kind for kind in (Tumbling, AllTime, Session, Hopping, Calendar)}
"""By their name in definition files."""
