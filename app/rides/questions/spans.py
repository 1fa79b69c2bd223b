"""Views that answer questions about spans of rides: streaks of a zone, sessions of a payment type."""

from __future__ import annotations

from app.domain.view import View

SPAN_VIEWS: tuple[View, ...] = ()
