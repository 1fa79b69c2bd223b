"""Which right includes which."""

from __future__ import annotations

import pytest

from app.base.kafka.acls import ANY_NAME, Acl, Operation, Resource, beyond

TOPIC, READ, ALL = Resource.TOPIC, Operation.READ, Operation.ALL
RIDES = Acl(TOPIC, "rides.yellow", READ)
ALL_RIDES = Acl(TOPIC, "rides.", READ, is_prefix=True)


@pytest.mark.parametrize(
    "wider",
    [
        RIDES,
        ALL_RIDES,
        RIDES._replace(operation=ALL),
        ALL_RIDES._replace(operation=ALL),
        RIDES._replace(name=ANY_NAME),
        Acl(TOPIC, ANY_NAME, ALL),
    ],
)
def test_a_right_is_included_in_itself_and_in_wider_ones(wider: Acl) -> None:
    assert wider.includes(RIDES)
    assert beyond([RIDES], [wider]) == []


@pytest.mark.parametrize(
    "other",
    [
        RIDES._replace(resource=Resource.GROUP),
        RIDES._replace(operation=Operation.WRITE),
        RIDES._replace(name="rides.green"),
        RIDES._replace(name="rides"),
        ALL_RIDES._replace(name="rides.g"),
        Acl(Resource.GROUP, ANY_NAME, ALL),
    ],
)
def test_a_right_is_not_included_in_others(other: Acl) -> None:
    assert not other.includes(RIDES)
    assert beyond([RIDES], [other]) == [RIDES]


def test_names_that_begin_so_are_included_in_shorter_beginnings_and_in_all_names() -> None:
    assert ALL_RIDES._replace(name="rid").includes(ALL_RIDES)
    assert RIDES._replace(name=ANY_NAME).includes(ALL_RIDES)
    assert not RIDES._replace(name="rides.").includes(ALL_RIDES)
    assert not ALL_RIDES._replace(name="rides.yellow").includes(ALL_RIDES)
