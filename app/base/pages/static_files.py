"""What pages and reports are drawn with: one style sheet and one icon for all of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

STATIC = {"page.css": "text/css", "icon.svg": "image/svg+xml"}
"""Their media types, by name."""


@cache
def static_text(name: str) -> str:
    """The file of that name in STATIC."""
    return (Path(__file__).parent / "static" / name).read_text("utf-8")
