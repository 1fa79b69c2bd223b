"""A prompt for statements: over several lines until `;`, with history, and the names of tables and columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from app.domain.errors import FlagfallError
from app.edge.cli.common import echo_table, tell

HELP = "A statement ends with `;`. `.tables` lists the tables, `DESCRIBE zone_demand;` columns; `quit`, Ctrl-D leaves."
KEYWORDS = ("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "HAVING", "JOIN", "USING", "DESCRIBE", "DESC")
OWN_COLUMNS = ("window_start", "window_end", "is_closed", "is_corrected", "count", "fingerprint")
ZONES, ZONE_COLUMNS = "zones", ("zone", "name", "borough")
"""The table beside those of views."""
LEAVING = (".quit", ".exit", "quit", "exit")
HELPING = "help"
"""Words that are for the prompt where they stand alone, as no statement is one word."""


class SqlPrompt:
    """Of these views (documents of `/v1/views`). `answer` prints the answer to a statement."""

    def __init__(self, views: Sequence[dict[str, Any]], answer: Callable[[str], None]) -> None:
        self._views, self._answer = views, answer
        self.completer = WordCompleter(self._words(), ignore_case=True)

    def run(self, terminal: Input | None = None, screen: Output | None = None) -> None:
        """Until who types leaves. What fails is told, and the prompt is there again."""
        tell(HELP)
        session = PromptSession[str](
            "flagfall> ",
            multiline=Condition(lambda: not is_whole(get_app().current_buffer.text)),
            prompt_continuation=lambda width, *_: "> ".rjust(width),
            completer=self.completer,
            complete_while_typing=False,
            input=terminal,
            output=screen,
        )
        while True:
            try:
                text = session.prompt().strip().rstrip(";").rstrip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if text.lower() in LEAVING:
                return
            self._do(text)

    def _do(self, text: str) -> None:
        match text:
            case "":
                pass
            case ".tables":
                views = ([view["name"], view["help"]] for view in self._views)
                echo_table(["table", "help"], [*views, [ZONES, "Zones by number, with their names."]])
            case _ if text.startswith(".") or text.lower() == HELPING:
                tell(HELP)
            case _:
                try:
                    self._answer(text)
                except FlagfallError as error:
                    tell(str(error))
                except KeyboardInterrupt:
                    tell("interrupted")

    def _words(self) -> list[str]:
        names = [told["name"] for view in self._views for told in (view, *view["groups"], *view["measures"])]
        return sorted({*names, ZONES, *ZONE_COLUMNS, *OWN_COLUMNS, *KEYWORDS})


def is_whole(text: str) -> bool:
    """Whether Enter asks: at the end of a statement, of an empty line, or of one that is for the prompt itself."""
    said = text.strip()
    return not said or said.endswith(";") or said.startswith(".") or said.lower() in (HELPING, *LEAVING)
