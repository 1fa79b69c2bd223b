"""A registry that a test answers for."""

from __future__ import annotations

from collections import Counter

from app.codecs.avro.schema import WriterSchema


class AwayError(Exception):
    pass


class Registry:
    """Counts the questions for each id."""

    def __init__(self, *known: int) -> None:
        self.known = set(known)
        self.asked: Counter[int] = Counter()
        self.away = 0
        """So many questions are not answered."""

    def look_up(self, schema_id: int) -> WriterSchema | None:
        self.asked[schema_id] += 1
        if self.away:
            self.away -= 1
            raise AwayError("nobody is there")
        return WriterSchema(schema_id, '"string"') if schema_id in self.known else None
