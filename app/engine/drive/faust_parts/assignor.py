"""Faust's assignor, for which a member's address belongs to its name in the group."""

from __future__ import annotations

from typing import Any

from faust.assignor.client_assignment import ClientMetadata
from faust.assignor.partition_assignor import PartitionAssignor

from app.domain.errors import FlagfallError


class NameTaken(FlagfallError):
    """The group knows another worker by this one's name. Start it where that one was, or under a name of its own."""


class AddressedAssignor(PartitionAssignor):
    """Refuses an assignment that was made for a worker of the same name at another address.

    The group gives a member that comes back under its FLAGFALL_WORKER_GROUP_INSTANCE_ID what it had, and asks nobody
    anew: the other workers would go on sending queries to the address of old.
    """

    def on_assignment(self, assignment: Any) -> None:
        held = ClientMetadata.loads(self._decompress(assignment.user_data)).url
        here = str(self.app.conf.canonical_url)
        if held != here:
            name = self.app.conf.consumer_group_instance_id
            raise NameTaken(
                f"group instance {name!r} is the worker at {held}, this one is at {here}: start it at that address, "
                "or under another FLAGFALL_WORKER_GROUP_INSTANCE_ID; this worker has left the group"
            )
        super().on_assignment(assignment)
