"""One answer from all tasks of a group: those owned here are read, the others asked of their owners, in one hop.

A worker that is asked by another answers for its own tasks only; nothing is ever forwarded twice.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from os import strerror
from typing import Protocol, TypeVar

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientError,
    ClientPayloadError,
    ClientResponse,
    ClientSSLError,
    ClientTimeout,
    ServerDisconnectedError,
)

from app.base.setting_groups import variable
from app.base.traces import HEADER, trace_now
from app.edge.http.context import Edge
from app.edge.http.problems import Problem
from app.engine.drive.ownership.directory import Directory

ATTEMPTS = 2
TIMEOUT_SECONDS = 1.0
"""Of one attempt, until an owner begins to answer; one that folds many rows then has half of the request's time."""

MOST_BYTES = 1 << 30
"""Of an owner's answer: several times what the rows take that one request may fold."""

NO_KEY_OF_OURS = (
    f"it takes no key of this worker's: {variable('access_token')} must be the token of a key for workers that is in "
    f"the owner's {variable('access_keys_file')}"
)
_OTHER_RELEASE = " to what this one asks: it has other definitions, or is of another release"
_OTHER_HOST = f" as it does not know itself by this address: look at its {variable('worker_advertised_url')}"
_WHY = {
    400: _OTHER_RELEASE,
    401: f", {NO_KEY_OF_OURS}",
    403: f", {NO_KEY_OF_OURS}",
    404: _OTHER_RELEASE,
    421: _OTHER_HOST,
}
_IN_WORDS = (
    (ClientConnectorCertificateError, "its certificate is not one that this worker trusts"),
    (ClientSSLError, "it speaks no TLS that this worker takes"),
    (ClientConnectorDNSError, "nobody knows the name of its machine"),
    (ServerDisconnectedError, "it ended the connection"),
    (ClientPayloadError, "its answer broke off"),
)
"""Of errors that hold no words of the system's."""

Given = TypeVar("Given")
Gives_co = TypeVar("Gives_co", covariant=True)


class Question(Protocol[Gives_co]):
    """What is asked of every task of a group. `not_given` says why an owner that answers may leave a task out."""

    directory: Directory
    address: str
    not_given: str

    def parameters(self) -> list[tuple[str, str]]:
        """Those of the address, beside the partitions."""
        ...

    async def own(self, partitions: Sequence[int]) -> Mapping[int, Gives_co]:
        """Of those partitions that are owned here and can be told."""
        ...

    async def read(self, url: str, status: int, body: bytes) -> Mapping[int, Gives_co]:
        """What an owner answered. ValueError, KeyError or TypeError if it is of no use; a Problem ends the request."""
        ...


async def of_all_tasks(edge: Edge, asked: Question[Given]) -> tuple[dict[int, Given], dict[int, str]]:
    """What can be had within two attempts, by partition, and why each of the others is missing."""
    return await of_tasks(edge, asked, range(asked.directory.partitions))


async def of_tasks(
    edge: Edge, asked: Question[Given], partitions: Sequence[int]
) -> tuple[dict[int, Given], dict[int, str]]:
    """The same of some tasks."""
    given: dict[int, Given] = {}
    missing: dict[int, str] = {}
    for _ in range(ATTEMPTS):
        wanted = [p for p in partitions if p not in given]
        given |= await asked.own(wanted)
        missing = {p: _why_not_here(asked.directory, p) for p in wanted if p not in given}
        away = _by_owner(asked.directory, missing)
        if not away:
            break
        for found, why in await asyncio.gather(*(_ask(edge, asked, url, p) for url, p in away.items())):
            given |= found
            missing |= why
        missing = {p: why for p, why in missing.items() if p not in given}
    return given, missing


def missing_facts(directory: Directory, missing: Mapping[int, str]) -> list[dict[str, object]]:
    """The missing partitions as answers and problems name them."""
    return [{"partition": p, "owner": directory.owners.get(p), "why": why} for p, why in sorted(missing.items())]


def partitions_missing(what: str, directory: Directory, missing: Mapping[int, str], *, takes_partial: bool) -> Problem:
    """The problem of an answer that lacks partitions. `takes_partial`: whether the question may ask for the others."""
    named = "; ".join(f"partition {p}: {why}" for p, why in sorted(missing.items()))
    advice = "Ask again, or take what there is with partial=allow." if takes_partial else "Ask again."
    detail = f"{what} is not whole: {named}. {advice}"
    return Problem("partitions-missing", detail, missing=missing_facts(directory, missing))


def _why_not_here(directory: Directory, partition: int) -> str:
    if not directory.answers:
        return f"this worker is {directory.standing_now}"
    if partition in directory.tasks:
        return "the view is still being built here"
    if partition in directory.recovering:
        done, of = directory.recovering[partition]
        return f"it is being taken over here: {done} of {of} offsets of its changelog are read"
    if partition not in directory.owners:
        return "no worker owns it"
    return "its owner has not taken it over yet"


def _by_owner(directory: Directory, missing: Mapping[int, str]) -> dict[str, list[int]]:
    """The missing partitions that another worker owns, by its URL."""
    away: dict[str, list[int]] = defaultdict(list)
    for partition in missing:
        owner = directory.owners.get(partition)
        if owner is not None and owner != directory.url:
            away[owner].append(partition)
    return away


async def _ask(
    edge: Edge, asked: Question[Given], url: str, partitions: Sequence[int]
) -> tuple[dict[int, Given], dict[int, str]]:
    """What one other worker gives; an owner that fails leaves its partitions missing, and why."""
    assert edge.session is not None  # open from the application's start to its end
    parameters = [*asked.parameters(), *(("partition", str(p)) for p in partitions)]
    address = f"{url.rstrip('/')}{asked.address}"
    seconds, untimed, onward = TIMEOUT_SECONDS, ClientTimeout(total=None), {HEADER: trace_now().onward()}
    given: dict[int, Given] = {}
    try:
        async with (
            asyncio.timeout(seconds) as deadline,
            edge.session.get(
                address, params=parameters, headers=onward, timeout=untimed, allow_redirects=False
            ) as answer,
        ):
            seconds = edge.limits.max_seconds / 2
            deadline.reschedule(asyncio.get_running_loop().time() + seconds)
            given = dict(await asked.read(url, answer.status, await _body(answer)))
    except TimeoutError:
        why = f"its owner {url} did not answer within {seconds:g} s"
    except (ClientError, OSError) as error:
        why = f"its owner {url} {unreached(error)}"
    except (ValueError, KeyError, TypeError) as error:
        why = f"its owner {url} gave no usable answer ({error})"
    else:
        why = f"its owner {url} {asked.not_given}"
    wanted = {p: one for p, one in given.items() if p in partitions}
    return wanted, {p: why for p in partitions if p not in wanted}


def unreached(error: Exception) -> str:
    """What kept another worker from answering, for who asked this one."""
    if isinstance(error, TimeoutError):
        return "did not answer in time"
    words = next((words for kind, words in _IN_WORDS if isinstance(error, kind)), None)
    if words is None:
        number = error.errno if isinstance(error, OSError) else None
        words = "the connection failed" if not number else strerror(number).lower()
    return f"cannot be reached: {words}"


def unusable(status: int) -> ValueError:
    """Why what another worker answered gives nothing."""
    return ValueError(f"it answered {status}{_WHY.get(status, '')}")


async def _body(answer: ClientResponse) -> bytes:
    body = bytearray()
    async for part in answer.content.iter_any():
        body += part
        if len(body) > MOST_BYTES:
            raise ValueError(f"it is longer than {MOST_BYTES:,} bytes")
    return bytes(body)
