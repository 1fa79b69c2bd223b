"""Views that answer questions about trips: by vendor, zone, route, hour, payment."""

from __future__ import annotations

from app.domain.view import View

TRIP_VIEWS: tuple[View, ...] = ()
