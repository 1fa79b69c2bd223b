"""Server-sent events as bytes."""

from __future__ import annotations

SNAPSHOT, CHANGES, SAME, GAP, PROBLEM = "snapshot", "changes", "same", "gap", "problem"


def framed(name: str, *data: bytes, digest: str | None = None) -> bytes:
    """JSON has no line ends of its own, so one line holds it. Its parts are copied together once: with a join, which
    leaves the interpreter to others where they are large."""
    last = b"" if digest is None else b"id: " + digest.encode() + b"\n"
    return b"".join((b"event: " + name.encode() + b"\n" + last + b"data: ", *data, b"\n\n"))
