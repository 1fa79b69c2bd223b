"""Results as users read them."""

from __future__ import annotations

from typing import Any

import orjson

from app.codecs.avro.schema import Schemas
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.records import Value
from app.domain.source import Column, Kind
from app.domain.windows.instants import to_iso
from app.edge.published.result_topic import ResultTopic


class ResultReader:
    """Reads results of one topic: JSON as it stands, of Avro instants as text. `schemas`: of all ids that its records
    name."""

    def __init__(self, published: ResultTopic, schemas: Schemas) -> None:
        source = published.source
        self._columns: dict[str, Column] = {} if source is None else dict(source.by_name)
        self._decoder = None if source is None else StrictDecoder(source.columns)
        self._schemas = schemas

    def values(self, value: bytes | None) -> tuple[dict[str, Any] | None, str | None]:
        """Of a record; or None, and why it cannot be read."""
        if self._decoder is None:
            return self._of_json(value)
        decoded = self._decoder.decode(value, self._schemas)
        if isinstance(decoded, Unreadable):
            return None, decoded.reason
        return {name: self._shown(name, one) for name, one in decoded.items()}, None

    def _of_json(self, value: bytes | None) -> tuple[dict[str, Any] | None, str | None]:
        try:
            told = orjson.loads(value or b"")
        except orjson.JSONDecodeError:
            told = None
        if not isinstance(told, dict):
            return None, "undecodable"
        return told, None

    def _shown(self, name: str, value: Value) -> Value:
        is_instant = self._columns[name].kind is Kind.INSTANT and isinstance(value, int)
        return to_iso(value) if is_instant else value
