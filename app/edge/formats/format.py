"""What a format of rows is; `app.edge.formats.table` lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Document = dict[str, Any]


class Format(NamedTuple):
    """How rows are written. `name` is its word: `format=` over HTTP, an option of `flagfall query`.

    `encode` makes an answer of its rows, which it takes one by one, and its meta. `schema` describes the answer for the
    API document by the schemas of a row and of meta; without it a format is not served over HTTP: it has no place for
    meta, and an answer of a worker names its position.
    """

    name: str
    media_type: str
    help: str
    encode: Callable[[Iterable[Document], Document], bytes]
    schema: Callable[[Document, Document], Document] | None = None
