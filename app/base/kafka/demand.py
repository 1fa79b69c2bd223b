"""What is asked of one setting of a cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One setting under Kafka's name: `exactly` this, or a number within bounds that may be met; None: no such bound.

    `required`: where it is not met figures may be wrong, or workers stop; else it is worth knowing.
    """

    name: str
    reason: str
    exactly: str | None = None
    least: int | None = None
    most: int | None = None
    required: bool = True

    @property
    def wanted(self) -> str:
        """In words: `false`, `60000 or more`, `10000 or less`, `60000 to 3600000`."""
        if self.exactly is not None:
            return self.exactly
        if self.least is not None and self.most is not None:
            return f"{self.least} to {self.most}"
        return f"{self.most} or less" if self.least is None else f"{self.least} or more"

    @property
    def value(self) -> str:
        """One that meets it, to be set."""
        return self.exactly or str(self.most if self.least is None else self.least)

    def admits(self, found: str | None) -> bool:
        """Whether what a broker tells meets it. What is no number is within no bounds."""
        if self.exactly is not None:
            return found == self.exactly
        try:
            number = int(found or "")
        except ValueError:
            return False
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)
