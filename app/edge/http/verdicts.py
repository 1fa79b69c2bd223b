"""The last verdict, as `flagfall reconcile` left it in the data directory."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

LATEST = Path("reconciliation") / "latest.json"
UNREADABLE = "UNREADABLE"

log = logging.getLogger(__name__)


class Verdict(BaseModel):
    """Outcome of a reconciliation. The residual counts rows that differ unexplained: it should be 0."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    run_id: str
    verdict: str
    finished_at: datetime | None = None
    unexplained_residual: int | None = None
    reason: str | None = None


def read_verdict(data_dir: Path) -> Verdict | None:
    """The last verdict; None before the first; one that says UNREADABLE where the file makes no sense."""
    path = data_dir / LATEST
    try:
        return Verdict.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        log.warning("%s cannot be read (%s); the next `flagfall reconcile` writes it anew", path, error)
        return Verdict(run_id="", verdict=UNREADABLE)
