"""What a row or a block is off by."""

from __future__ import annotations

from typing import NamedTuple


class Surplus(NamedTuple):
    """How many records are there too many (below zero: too few), and the sum of their mixes, modulo 2**64."""

    records: int
    mixes: int
