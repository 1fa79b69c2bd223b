"""Whatever is planted into a table is named, exactly so, by the pure part of the reconciliation; nothing else is."""

from __future__ import annotations

import pytest

from app.domain.naming import claims
from app.domain.naming.accused import Accused
from tests.plants.faults import FAULTS
from tests.plants.planting import plant

PLANTS = 300
SEED = 7


def test_plants_are_named_and_clean_runs_raise_no_alarm() -> None:
    tried = plant(SEED, PLANTS)
    assert tried.wrong == []
    assert tried.planted == tried.named
    assert (tried.planted.total(), tried.false, tried.alarms) == (PLANTS, 0, 0)
    assert tried.clean_runs >= PLANTS
    assert {fault.name for fault in FAULTS} == {*tried.planted}


@pytest.mark.parametrize("rung", ["accused_one", "accused_run", "accused_two"])
def test_without_a_rung_of_the_ladder_some_are_not(monkeypatch: pytest.MonkeyPatch, rung: str) -> None:
    monkeypatch.setattr(claims, rung, lambda *_: None)
    tried = plant(SEED, 40)
    assert tried.named.total() < tried.planted.total()


def test_a_ladder_that_accuses_a_wrong_record_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = claims.accused_run

    def one_short(*asked: object) -> Accused | None:
        run = right(*asked)  # type: ignore[arg-type]
        return None if run is None else Accused(run.lost[1:], run.doubled[1:], run.late[1:])

    monkeypatch.setattr(claims, "accused_run", one_short)
    tried = plant(SEED, 40)
    assert tried.false > 0
    assert not tried.is_right
