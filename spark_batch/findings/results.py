"""What a run found of the results of a join or alert. docs/reconciliation.md lists the fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.base.files.verdicts import Verdict
from app.domain.difference import DifferenceKind
from app.domain.fingerprint import unpack
from app.domain.pairs.join import Side
from app.domain.pairs.pairing import Pairing
from app.domain.records import Place, Value
from spark_batch.stored.cut import SourceCut
from spark_batch.stored.ledgers import LedgerEntry


@dataclass(frozen=True, slots=True)
class ResultDifference:
    """A result that is not what it must be: packed origins, where it stands in its topic, and the values there and as
    recomputed."""

    kind: DifferenceKind
    partition: int
    origins: tuple[int | None, int | None]
    offset: int | None
    sent: Mapping[str, Value] | None
    recomputed: Mapping[str, Value] | None


@dataclass(frozen=True)
class ComparedResults:
    """`due`: results of the cut. `gone`: of these those that are not in a topic which begins behind its first offset.
    `former`: records of before the join or alert began; `later`: such as may have come since the cut. Neither is
    compared."""

    due: int
    former: int
    later: int
    gone: int
    counts: Mapping[DifferenceKind, int]
    differences: Sequence[ResultDifference]


@dataclass(frozen=True)
class PairingReport:
    """One join or alert: its cut, what was compared, what differs."""

    pairing: Pairing
    cuts: Sequence[SourceCut]
    compared: ComparedResults
    ledger: Sequence[LedgerEntry]

    @property
    def name(self) -> str:
        return self.pairing.name

    @property
    def ledger_faults(self) -> list[LedgerEntry]:
        return [entry for entry in self.ledger if entry.differs]

    @property
    def differing(self) -> int:
        return sum(self.compared.counts.values())

    @property
    def residual(self) -> int:
        """Records in the topic that no two records, or one alone, give."""
        return self.compared.counts.get(DifferenceKind.UNNAMED, 0)

    @property
    def is_right(self) -> bool:
        return not self.differing and not self.ledger_faults

    @property
    def verdict(self) -> Verdict:
        return Verdict.MATCH if self.is_right else Verdict.MISMATCH

    def places(self, one: ResultDifference) -> dict[Side, Place]:
        """Where the records stand that a result was made of."""
        sides = zip(Side, one.origins, strict=True)
        return {side: self._place(side, packed) for side, packed in sides if packed is not None}

    def as_json(self) -> dict[str, Any]:
        counts = self.compared.counts
        return {
            "name": self.pairing.name,
            "version": self.pairing.version,
            "topic": self.pairing.output.name,
            "cut": [cut.as_json() for cut in self.cuts],
            "results": self.compared.due,
            "gone": self.compared.gone,
            "former": self.compared.former,
            "later": self.compared.later,
            "classes": {kind.value: counts[kind] for kind in counts},
            "residual": self.residual,
            "differences": [self._difference(one) for one in self.compared.differences],
            "ledger": [asdict(entry) | {"differs": entry.differs} for entry in self.ledger],
        }

    def _difference(self, one: ResultDifference) -> dict[str, Any]:
        return {
            "class": one.kind.value,
            "partition": one.partition,
            "offset": one.offset,
            "records": {side.value: place._asdict() for side, place in self.places(one).items()},
            "sent": one.sent,
            "recomputed": one.recomputed,
        }

    def _place(self, side: Side, packed: int) -> Place:
        """Of an origin that is none of the side's the topic's number is told, as there is no more to be known."""
        number, partition, offset = unpack(packed)
        known = {topic.number: topic.name for topic in self.pairing.half(side).source.topics}
        return Place(known.get(number, f"topic {number}"), partition, offset)
