"""That no other worker of the group gives out this one's address.

Owners are known by their address: of two workers with the same one, the tasks of one look as if nobody owned them, for
as long as both live. Each worker tells the group its address, where it listens and a mark of its own, in its client id.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import mode

from app.base.kafka.group_members import GroupUnknown, Member, seen_as
from app.base.setting_groups import WorkerSettings, variable
from app.base.settings import Settings
from app.domain.errors import FlagfallError
from app.engine.drive.callbacks import EndWorker
from app.engine.drive.questions import AskMembers

POLL_SECONDS = 0.5

log = logging.getLogger(__name__)


class AddressTaken(FlagfallError):
    """Another worker of the group gives out this one's address. Give each its own; the message names the variable."""


@dataclass(frozen=True)
class Here:
    """This worker as the group sees it. `only_at`: the address of this machine, if it listens at the port that it gives
    out. Nobody else on the machine listens where it does, so who told the group that from there is a dead predecessor.
    """

    url: str
    client_id: str
    instance_id: str | None = None
    only_at: str | None = None


def client_id_of(worker: WorkerSettings) -> str:
    """The address, where it listens, and a mark that no other process has."""
    return f"{worker.url}#{worker.http_host}:{worker.http_port}#{secrets.token_hex(4)}"


def here_of(settings: Settings, client_id: str) -> Here:
    """This worker, by its settings."""
    worker = settings.worker
    listens = urlsplit(worker.url).port == worker.http_port
    return Here(worker.url, client_id, worker.group_instance_id or None, seen_as(settings.kafka) if listens else None)


def namesakes(here: Here, members: Iterable[Member]) -> list[Member]:
    """Members that give out the same address, may live, and are not this worker under its name in the group."""
    return [
        member
        for member in members
        if _url(member.client_id) == here.url
        and member.client_id != here.client_id
        and (here.instance_id is None or member.instance_id != here.instance_id)
        and not (member.host == here.only_at and _listens_at(member.client_id) == _listens_at(here.client_id))
    ]


def _url(client_id: str) -> str | None:
    """None for one that tells no mark: what it is cannot be known."""
    url, marked, _ = client_id.partition("#")
    return url if marked else None


def _listens_at(client_id: str) -> str:
    """Nothing for one of an earlier release: the group's word is waited for."""
    return client_id.partition("#")[2].rpartition("#")[0]


class OwnAddress(mode.Service):
    """Looks before the group is joined, and once more when it is: two may have started at the same moment."""

    def __init__(
        self,
        here: Here,
        members: AskMembers,
        *,
        patience_seconds: float,
        end: EndWorker,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        super().__init__()
        self._here, self._members, self._end = here, members, end
        self._patience_seconds, self._poll_seconds = patience_seconds, poll_seconds

    def require(self) -> None:
        """AddressTaken if a namesake is still in the group when any dead one would have left it. Blocks till then."""
        deadline = time.monotonic() + self._patience_seconds
        told = False
        while found := namesakes(self._here, self._members()):
            if time.monotonic() >= deadline:
                raise AddressTaken(self._refusal(found))
            if not told:
                log.info("the group knows a worker at %s already: waiting whether it lives", self._here.url)
                told = True
            time.sleep(self._poll_seconds)

    async def on_start(self) -> None:
        self.add_future(self._look_again())

    async def _look_again(self) -> None:
        """End the worker if the group that it is in has a namesake by now."""
        while not self.should_stop:
            await self.sleep(self._poll_seconds)
            try:
                members = await asyncio.to_thread(self._members)
            except GroupUnknown:  # told before the group is joined
                continue
            if any(member.client_id == self._here.client_id for member in members):
                if found := namesakes(self._here, members):
                    await self._end(AddressTaken(self._refusal(found)))
                return

    def _refusal(self, found: Sequence[Member]) -> str:
        at = ", ".join(sorted({member.host for member in found}))
        return (
            f"another live worker of this group, at {at}, is known to others as {self._here.url}, as this one would "
            f"be: set {variable('worker_advertised_url')} to where others reach this worker, as http://HOST:PORT"
        )
