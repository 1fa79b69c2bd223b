"""Instants as options: with a zone, since none would be a guess."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click import Context, Parameter


class Instant(click.ParamType):
    """An ISO 8601 instant with its zone; passes an aware `datetime`."""

    name = "time"

    def convert(self, value: str | dt.datetime, param: Parameter | None, ctx: Context | None) -> dt.datetime:
        """Refuses, in words, what is no instant and what has no zone."""
        if isinstance(value, dt.datetime):
            return value
        try:
            instant = dt.datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no instant; give one with its zone, as 2026-01-05T08:00Z", param, ctx)
        if instant.tzinfo is None:
            self.fail(f"{value} has no time zone; add one, e.g. Z or -05:00", param, ctx)
        return instant


INSTANT = Instant()
