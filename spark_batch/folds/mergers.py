"""How Spark merges the values of a part: an aggregate a kind, over the value or over (time, origin, value)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.measures.parts import Op

MERGERS: Mapping[Op, Callable[[Column], Column]] = {
    Op.ADD: F.sum,
    Op.MIN: F.min,
    Op.MAX: F.max,
    Op.FIRST: F.min,
    Op.LAST: F.max,
}
