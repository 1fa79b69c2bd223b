"""Which worker has a lane: the owner of one of the first group's tasks, so that lanes move when tasks do."""

from __future__ import annotations

import random

from app.base.names import LANES
from app.edge.http.context import Edge, not_ready
from app.edge.intake.intake import lane_of
from app.engine.drive.standing import GroupStanding


def owner_of(edge: Edge, lane: int) -> str:
    """Its address; a problem while nobody has it, or this worker cannot know."""
    directory = edge.groups[0].directory
    standing = directory.standing_now
    if standing in (GroupStanding.LOST, GroupStanding.STOPPING) or not directory.partitions:
        raise not_ready(standing)
    owner = directory.owners.get(lane % directory.partitions)
    if owner is None:
        raise not_ready(GroupStanding.REBALANCING)
    return owner


def lane_for(edge: Edge, key: str | None) -> int:
    """The key's; without one any, of this worker's own if it has some."""
    if key is not None:
        return lane_of(key)
    own = [lane for lane in range(LANES) if owner_of(edge, lane) == edge.own_url]
    return random.choice(own or range(LANES))
