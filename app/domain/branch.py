"""A branch as data: every usable record of a source goes on to one of two topics, by an amount in it.

Nothing is kept for it but how many it has sent on, and from where: where a record goes follows from the record alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from app.domain.errors import DefinitionError
from app.domain.source import Kind, Source


@dataclass(frozen=True)
class Branch:
    """Records whose amount is `threshold` or more go to `high`, all others to `low`: those without any amount, too.

    The amount is the first of `columns` that is not null, whole numbers in the columns' unit. DefinitionError naming
    every mistake.
    """

    name: str
    source: Source
    columns: tuple[str, ...]
    threshold: int
    high: str
    low: str
    help: str

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise DefinitionError(f"branch {self.name!r} is not usable", problems)

    @property
    def outputs(self) -> tuple[str, str]:
        """The topics it writes."""
        return self.high, self.low

    @cached_property
    def version(self) -> str:
        """Eight hex digits over all that can change where a record goes; its source's skew may change beside it."""
        read = (self.source.number, self.columns, self.threshold, self.outputs)
        return hashlib.sha256(json.dumps(read).encode()).hexdigest()[:8]


def _problems(branch: Branch) -> Iterator[str]:
    if not branch.columns:
        yield "there is no column to go by"
    for name in branch.columns:
        column = branch.source.by_name.get(name)
        if column is None:
            yield f"no column {name!r} in source {branch.source.name!r}"
        elif column.kind is not Kind.INTEGER:
            yield f"column {name!r} is {column.kind}, not {Kind.INTEGER}"
    if branch.high == branch.low:
        yield f"both topics are {branch.high!r}"
    for topic in sorted({*branch.outputs} & {topic.name for topic in branch.source.topics}):
        yield f"topic {topic!r} is one that it reads: what it sends on would come back"
