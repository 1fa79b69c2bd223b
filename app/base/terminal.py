"""What prints to a terminal in colours and columns. The only one: text is text here, never markup or a command."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from app.base.printable import printable


class Terminal(Console):
    """A console that prints strings as they are: `[/x]` is no markup, an escape sequence no command.

    Colour is given apart from text, as `style=` or in `Text.assemble`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Every print comes through here. Control codes of rich's own (cursor, status lines) are segments apart."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text, lines=True))
