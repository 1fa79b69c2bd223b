"""What a format of rows is; `app.edge.formats.table` lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

Document = dict[str, Any]
Joining = Callable[[Iterator[bytes]], Iterator[bytes]]
MOST_DOCUMENTS, MOST_IN_COLUMNS = 10_000, 100_000


class Told(NamedTuple):
    """An answer that is to be written: its rows, which come one by one, and what they rest on. `table` makes an Arrow
    table of the same rows, with `meta` in its schema."""

    rows: Iterable[Document]
    meta: Document
    table: Callable[[], Any]


class Format(NamedTuple):
    """How rows are written. `name` is its word: `format=` over HTTP, an option of `flagfall query`.

    `schema` describes the answer for the API document by the schemas of a row and of meta. `has_meta`: whether what is
    written has a place for meta; else it is told in headers. `is_text`: whether it may be shown to people. `joined`
    makes of the pages of a question one answer, piece by piece, with the last page's meta; None if it cannot be.
    """

    name: str
    media_type: str
    help: str
    encode: Callable[[Told], bytes]
    schema: Callable[[Document, Document], Document]
    most_rows: int = MOST_DOCUMENTS
    has_meta: bool = True
    is_text: bool = True
    joined: Joining | None = None
