"""Views over the lives of rides: taxis, drivers, what was paid."""

from __future__ import annotations

from app.domain.view import View

LIFE_VIEWS: tuple[View, ...] = ()
"""Over starts and ends; over fares."""
