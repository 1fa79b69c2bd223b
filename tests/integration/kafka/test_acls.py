"""Rights, asked of a broker that has no authorizer."""

from __future__ import annotations

import pytest

from app.base.kafka.acls import AclsRefused, Operation, held, require
from app.base.settings import Settings


def test_a_broker_without_an_authorizer_lets_everybody_do_anything_and_knows_of_no_rights(settings: Settings) -> None:
    require(settings.kafka, Operation.ALTER)
    with pytest.raises(AclsRefused, match="brokers have no authorizer"):
        held(settings.kafka, "worker-2026")
