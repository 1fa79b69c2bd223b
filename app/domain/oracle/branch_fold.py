"""Where a branch sends a record on, one by one: what the worker's must equal."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.branch import Branch
from app.domain.records import Value


def topic_of(branch: Branch, values: Mapping[str, Value]) -> str:
    """Where a record with these values goes, derived columns among them."""
    amount = next((int(value) for name in branch.columns if (value := values[name]) is not None), None)
    return branch.high if amount is not None and amount >= branch.threshold else branch.low
