"""The trace that a request belongs to, as the W3C's Trace Context names it: the caller's, else one of its own.

It stands in problems and in the log beside their causes, and goes on to the other workers that are asked.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar

HEADER = "traceparent"
_FORM = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_NONE = "0" * 32
_TRACE_BYTES, _SPAN_BYTES = 16, 8


class Trace:
    """Of one request; its id is made when it is first asked for."""

    def __init__(self, told: str | None = None) -> None:
        self._told = told
        self._id: str | None = None
        self._flags = "00"

    @property
    def id(self) -> str:
        """32 hexadecimal digits."""
        if self._id is None:
            found = _FORM.fullmatch(self._told or "")
            if found is None or found[1] == _NONE or found[0].startswith("ff"):
                self._id = secrets.token_hex(_TRACE_BYTES)
            else:
                self._id, self._flags = found[1], found[3]
        return self._id

    def onward(self) -> str:
        """The header for a request that is made for this one."""
        return f"00-{self.id}-{secrets.token_hex(_SPAN_BYTES)}-{self._flags}"


_TRACE: ContextVar[Trace] = ContextVar("trace")


def begin_trace(told: str | None) -> Trace:
    """Of the request that is answered here from now on, by what its caller sent in `traceparent`."""
    trace = Trace(told)
    _TRACE.set(trace)
    return trace


def trace_now() -> Trace:
    """Of the request that is being answered; a new one outside of any."""
    trace = known_trace()
    return begin_trace(None) if trace is None else trace


def known_trace() -> Trace | None:
    """Of the request that is being answered; None outside of any."""
    return _TRACE.get(None)
