"""Where rides go on to by what they cost."""

from __future__ import annotations

from app.domain.branch import Branch
from app.rides.ride import RIDES

AMOUNTS = Branch(
    name="amounts",
    source=RIDES,
    columns=("total_cents", "fare_cents"),
    threshold=4_000,
    high="amounts.high",
    low="amounts.low",
    help="Rides of 40 dollars and more, and all others; the fare counts where no total is published.",
)
