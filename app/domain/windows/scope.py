"""Which windows a run looks at: those that have a part in a stretch of event time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.domain.windows.contract import Window

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Scope:
    """Windows that have a part in `[from_us, to_us)`, None is open: all that a record of that time can be in.

    `since_run`: what ended before `from_us` was final when that run found it right.
    """

    from_us: int | None
    to_us: int | None = None
    since_run: str | None = None

    def __post_init__(self) -> None:
        if self.from_us is not None and self.to_us is not None and self.from_us >= self.to_us:
            raise ValueError(f"nothing lies between {_iso(self.from_us)} and {_iso(self.to_us)}")

    @property
    def is_a_stretch(self) -> bool:
        """Whether it says nothing of windows outside; else those were found right before."""
        return self.since_run is None

    def narrows(self, window: Window) -> bool:
        """Whether rows of such windows can be left out one by one: not where they merge, or never end."""
        return window.ends and not window.merges

    def reaches_on_from(self, final_to_us: int) -> bool:
        """Whether all windows that end after that instant are in it."""
        return self.to_us is None and (self.from_us is None or self.from_us <= final_to_us)

    def __str__(self) -> str:
        begins = "" if self.from_us is None else f" from {_iso(self.from_us)}"
        ends = "" if self.to_us is None else f" to {_iso(self.to_us)}"
        since = "" if self.since_run is None else f", since run {self.since_run}"
        return f"windows{begins}{ends}{since}"


def _iso(instant_us: int) -> str:
    return (_EPOCH + timedelta(microseconds=instant_us)).isoformat().removesuffix("+00:00") + "Z"
