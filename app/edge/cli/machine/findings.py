"""What `flagfall doctor` says of one thing that it has looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grade = Literal["ok", "note", "fault"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    grade: Grade
    """fault: something that is required is missing; note: worth knowing, and `flagfall` works."""
    found: str
    advice: str = ""
