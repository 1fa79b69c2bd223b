"""Cursors of evidence: how far the search has come, and the row that it is held against.

The row of the first page stays the one that is looked into, whatever has become of it since. Where its records may
stand follows from its position at any time, so a cursor holds the one place alone that is being read; and of a long
text that the row is of, which the address names, only its place in the order of rows. It is sealed: one that somebody
made up would give an answer, in the worker's name, about a row that he made up.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.domain.fingerprint import MAX_OFFSET, MAX_PARTITION
from app.domain.records import Value
from app.domain.rows import RowKey
from app.domain.view import View
from app.edge.http.problems import Problem
from app.edge.http.query.seal import Seal
from app.edge.http.query.text_places import place_of
from app.engine.core.searching import Search, SearchSpan
from app.engine.core.views.belonging import RowAsked

MOST_BYTES = 100_000
Cell = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
Offset = Annotated[int, Field(ge=0, le=MAX_OFFSET)]
Partition = Annotated[int, Field(ge=0, le=MAX_PARTITION)]


class SearchCursor(BaseModel):
    """A search on its way. `row`: what the tasks told at `position`, next offsets in the order of topic-partitions.

    `wanted`: of the tasks that are looked into. `at`: what is being read; None before the beginning and behind the end.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: Literal[1] = 1
    view: str
    version: str
    start_us: Cell | None
    end_us: Cell | None
    group: tuple[Cell | str | None, ...]
    row: tuple[Cell, ...]
    corrected: bool = False
    position: tuple[Offset, ...]
    wanted: dict[Partition, Offset]
    found: tuple[Cell, ...]
    at: tuple[str, Partition, Offset, Offset, Cell, bool] | None = None
    to_the_end: bool = False

    @property
    def asked(self) -> RowAsked:
        return RowAsked(self.start_us, self.end_us, self.group)

    @property
    def is_at_end(self) -> bool:
        """Behind the beginning: whether nothing more is looked for, whatever was found."""
        return self.at is None

    @property
    def is_short(self) -> bool:
        """Whether records are missing, though all was looked at."""
        return self.is_at_end and any(self.wanted.values())

    @property
    def is_exhausted(self) -> bool:
        """Whether all was looked at where records of the row may stand."""
        return self.is_at_end and (self.to_the_end or self.is_short)

    @property
    def is_adding(self) -> bool:
        """Whether it looks for what corrections have brought in."""
        return self.at is not None and self.at[-1]

    def going_on(self, search: Search) -> SearchCursor:
        """The same row, the search having come so far."""
        return self.model_copy(update={"wanted": dict(search.wanted), "found": search.found, "at": search.next})

    def search_in(self, spans: Sequence[SearchSpan]) -> Search:
        """The search that goes on in these spans, of which it has read those before the one that it is in."""
        if self.at is not None:
            here = SearchSpan(*self.at)
            places = [(one.topic, one.partition, one.to_offset, one.is_added) for one in spans]
            place = (here.topic, here.partition, here.to_offset, here.is_added)
            if place not in places:
                raise Problem("bad-cursor", "What it goes on with is not there any more; start again without a cursor.")
            spans = (here, *spans[places.index(place) + 1 :])
        return Search(self.asked, tuple(spans), self.wanted, self.found, self.to_the_end)


def encode(seal: Seal, cursor: SearchCursor) -> str:
    """As a client sees it: short, as addresses are bounded."""
    short = cursor.model_copy(update={"group": _places(cursor.group)})
    return seal.sealed(zlib.compress(short.model_dump_json().encode(), 9))


def decode(seal: Seal, view: View, asked: RowAsked, text: str, *, to_the_end: bool) -> SearchCursor:
    """The search that a cursor goes on with; a problem if no worker gave it, or for another row."""
    opened = seal.opened(text)
    try:
        cursor = SearchCursor.model_validate_json(zlib.decompressobj().decompress(opened, MOST_BYTES))
    except zlib.error:
        told_why = "This is no cursor of evidence; take meta.next_cursor of the page before."
        raise Problem("bad-cursor", told_why) from None
    except ValueError:
        told_why = "This cursor of evidence is of another release; start again without a cursor."
        raise Problem("bad-cursor", told_why) from None
    if cursor.to_the_end is not to_the_end:
        raise Problem("bad-cursor", "to_the_end is not what it was on the page before; give the same or begin again.")
    if not _belongs(cursor, view, asked):
        raise Problem("bad-cursor", "The cursor was made for another row or version; start again without a cursor.")
    return cursor.model_copy(update={"group": asked.group})


def _places(group: tuple[Value, ...]) -> tuple[Value, ...]:
    return place_of(RowKey(None, group)).group


def _belongs(cursor: SearchCursor, view: View, asked: RowAsked) -> bool:
    of_row = (cursor.view, cursor.version, cursor.start_us, cursor.group)
    return (
        of_row == (view.name, view.version, asked.start_us, _places(asked.group))
        and (asked.end_us is None or cursor.end_us == asked.end_us)
        and (cursor.end_us is not None) == view.window.ends
        and len(cursor.row) == len(cursor.found) == len(view.cells)
        and cursor.at is not None
        and cursor.at[1] in cursor.wanted
    )
