"""The blocks of code on the pages for who comes from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).parents[3]
PAGES = CHECKOUT / "docs" / "coming-from"
QUOTED = re.compile(r"(?://|#) (benchmarks/peers/\S+)")
RUN = ("toml", "bash", "python")
THEIRS = ("sql", "java")
"""What the pages say is not run."""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    page: str
    kind: str
    text: str

    @property
    def quoted_from(self) -> str | None:
        """The file that its first line names; None if it is the page's own."""
        named = QUOTED.fullmatch(self.text.splitlines()[0])
        return named[1] if named else None


def blocks() -> list[Block]:
    """All of them, page by page."""
    return [Block(p.stem, *one) for p in sorted(PAGES.glob("*.md")) for one in _BLOCK.findall(p.read_text("utf-8"))]


def own(kind: str, page: str | None = None) -> list[Block]:
    """Those that stand nowhere else, of this kind, of all pages or of one."""
    return [one for one in blocks() if one.kind == kind and page in (None, one.page) and one.quoted_from is None]


def program(name: str) -> Block:
    """The one of that name."""
    (found,) = (one for one in own("python") if one.text.startswith(f"# {name}\n"))
    return found
