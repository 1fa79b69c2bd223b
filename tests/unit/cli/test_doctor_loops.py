"""What `flagfall doctor` says of the compiled loops."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.codecs import kept_loops
from app.codecs.kept_loops import TO_COMPILE, KeptLoops
from app.edge.cli.machine import doctor

PLACE = Path("/cache")


@pytest.mark.parametrize(
    ("loops", "grade", "found", "advice"),
    [
        (KeptLoops(38, 38, PLACE), "ok", "38 of 38 are compiled and kept in /cache", ""),
        (KeptLoops(3, 38, PLACE), "note", "3 of 38 are compiled and kept in /cache", TO_COMPILE),
        (KeptLoops(0, 38, None), "note", "not writable", "NUMBA_CACHE_DIR"),
    ],
)
def test_loops_that_are_not_kept_are_noted_with_what_to_do(
    loops: KeptLoops, grade: str, found: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_loops, "kept_loops", lambda: loops)
    told = doctor._loops()
    assert (told.subject, told.grade) == ("loops", grade)
    assert found in told.found
    assert advice in told.advice
    assert bool(told.advice) is bool(advice)
