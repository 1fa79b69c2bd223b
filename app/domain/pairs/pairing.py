"""What joins and alerts have in common: halves are held until they meet, or nobody can meet them any more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from app.domain.pairs.half import Half
from app.domain.pairs.joined import Side
from app.domain.source import Source, SourceTopic


class Pairing(ABC):
    """Matches records by id, and writes a topic of its own. `number` is never reused: it stands in every stored key."""

    number: int
    name: str
    output: SourceTopic
    help: str
    sends_unmatched: ClassVar[bool] = False
    """Whether halves that nobody met go to the topic of unmatched ones."""
    origins: ClassVar[tuple[str, str]]
    """Columns of what it gives: the packed origins (`app.domain.fingerprint`) of both sides' records."""
    words: ClassVar[tuple[str, str, str]]
    """What messages call it, its article first, and what they call that which it matches."""

    @property
    @abstractmethod
    def topics(self) -> tuple[str, ...]:
        """The topics it reads, each once."""

    @property
    @abstractmethod
    def waits_us(self) -> int:
        """How far the watermark must be past a half's time for nothing to wait for it any more."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Eight hex digits over all that can change what it gives."""

    @property
    @abstractmethod
    def source(self) -> Source:
        """What it gives as a source: views over it read it like any other."""

    @abstractmethod
    def half(self, side: Side) -> Half:
        """What it takes from a side."""

    @abstractmethod
    def needed(self, side: Side) -> tuple[str, ...]:
        """Columns of a side that it carries into what it gives."""

    def source_of(self, topic: str) -> Source:
        """The source of a topic that it reads."""
        return next(half.source for half in map(self.half, Side) if half.topic == topic)

    def columns_of(self, source: Source) -> frozenset[str]:
        """Columns of a source that it reads: to know its halves, and to carry them."""
        sides = [side for side in Side if self.half(side).source.number == source.number]
        return frozenset(name for side in sides for name in (*self.half(side).columns, *self.needed(side)))
