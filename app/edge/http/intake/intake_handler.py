"""`POST /v1/topics/{topic}/records`: records in, each usable one written once, and told where it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson
from aiohttp import ClientConnectorError, ClientError, ClientTimeout, hdrs, web

from app.base.errors import RegistryUnavailable
from app.base.names import LANES
from app.base.setting_groups import variable
from app.base.traces import HEADER, trace_now
from app.edge.http.context import Edge, edge_of
from app.edge.http.intake.brought import KEY, SentRecords, read_brought
from app.edge.http.intake.lane_owners import lane_for, owner_of
from app.edge.http.owners import NO_KEY_OF_OURS, unreached
from app.edge.http.problems import MEDIA_TYPE as PROBLEM
from app.edge.http.problems import TYPES, Problem, address_of, bad_parameter
from app.edge.http.query.parameters import (
    one,
    unknown,
)
from app.edge.http.query.read_query import read_no_parameters
from app.edge.http.responses import json_response
from app.edge.intake.failures import BrokerRefuses, NotConfirmed, NotWritten
from app.edge.intake.intake import Intake
from app.edge.intake.latest_schema import NoSchemaFits
from app.edge.intake.memory import MemoryFull
from app.edge.intake.wanted import Keyed, Reply, Wanted, WrittenAt
from app.rides.ride import SERVICES

OWN_INTAKE = "/v1/internal/intake"
SERVICE = "service"
NOT_TAKEN = "not-taken"
CHECKING = 0.5
"""Of a request's time, so that the brokers have some left."""
OWNERS = 0.9
"""Of the time of a request that was sent on, so that its lane's owner answers before it is given up."""


async def take_records(request: web.Request) -> web.Response:
    """Records of a topic, checked against its schema. Usable ones are written in one transaction, the others told why
    not. With an Idempotency-Key a request may be sent again: it is written once, and answered the same."""
    read_no_parameters(request)
    return await _taken(request, request.match_info["topic"])


async def take_rides(request: web.Request) -> web.Response:
    """Rides of a service, as records of its topic."""
    for name in request.query:
        if name != SERVICE:
            raise unknown(request.query, name, f"there is {SERVICE}")
    service = one(request.query, SERVICE)
    if service not in SERVICES:
        raise bad_parameter(SERVICE, service or "", f"one of {', '.join(SERVICES)}")
    return await _taken(request, SERVICES[service])


async def take_from_worker(request: web.Request) -> web.Response:
    """What another worker was sent, for a lane that is this one's."""
    edge, told = edge_of(request), {name: one(request.query, name) or "" for name in ("topic", "lane")}
    intake = _intake(edge, told["topic"])
    if not (told["lane"].isascii() and told["lane"].isdigit() and int(told["lane"]) < LANES):
        raise bad_parameter("lane", told["lane"], f"0 to {LANES - 1}")
    brought, lane = await read_brought(request), int(told["lane"])
    if owner_of(edge, lane) != edge.own_url:
        raise Problem("not-ready", "The lane has moved to another worker, and nothing was written. Send it again.")
    return await _written(edge, intake, told["topic"], brought, lane, OWNERS * edge.limits.max_seconds)


async def _taken(request: web.Request, topic: str) -> web.Response:
    edge = edge_of(request)
    intake = _intake(edge, topic)
    brought = await read_brought(request)
    lane = lane_for(edge, brought.key)
    owner = owner_of(edge, lane)
    if owner != edge.own_url:
        return await _sent_on(request, owner, topic, brought, lane)
    return await _written(edge, intake, topic, brought, lane, edge.limits.max_seconds)


def _intake(edge: Edge, topic: str) -> Intake:
    if edge.intake is None:
        raise Problem(NOT_TAKEN, f"This worker takes no records: {variable('http_intake')}=true lets it.")
    if topic not in edge.intake.topics:
        raise Problem("unknown-topic", f"{topic!r} takes no records; there are: {', '.join(edge.intake.topics)}.")
    return edge.intake


async def _written(
    edge: Edge, intake: Intake, topic: str, brought: SentRecords, lane: int, seconds: float
) -> web.Response:
    began = asyncio.get_running_loop().time()
    records, problem = await _checked(intake, topic, brought, began, CHECKING * seconds)
    if problem is not None and brought.key is None:
        raise problem
    wanted = Wanted(topic, records, brought.key, brought.digest(topic))
    told = await _outcome(edge, intake, lane, wanted, began, seconds)
    if told.digest != wanted.digest:
        raise Problem("key-reused", f"{KEY}: another request was taken under this key. Use one key for one request.")
    if problem is not None and told.is_refused:  # else it was written under its key before, when other rules held
        raise problem
    return _answer(topic, told)


async def _checked(
    intake: Intake, topic: str, brought: SentRecords, began: float, seconds: float
) -> tuple[Sequence[Keyed | str], Problem | None]:
    """What is to be written, and where that is nothing, the problem that it is."""
    documents = brought.documents()
    try:
        async with asyncio.timeout_at(began + seconds):
            writer = await intake.writer(topic)
    except (RegistryUnavailable, NoSchemaFits) as error:
        return (), Problem("no-schema", f"{error}.")
    except TimeoutError:
        why = f"the registry, asked for the first time, has not told it for {seconds:g} s; nothing was written"
        return (), Problem("no-schema", f"The schema of {topic}: {why}. Send it again.")
    try:
        async with asyncio.timeout_at(began + seconds):
            records = await intake.encoded(topic, writer, documents)
    except TimeoutError as error:
        why = f"Checking these and others' took more than {seconds:g} s; nothing was written. Send it later."
        raise Problem("too-many-records", why) from error
    if any(isinstance(record, Keyed) for record in records):
        return records, None
    return records, Problem("refused-records", "No record can be taken: each says why.", records=_documents(records))


async def _outcome(edge: Edge, intake: Intake, lane: int, wanted: Wanted, began: float, seconds: float) -> Reply:
    try:
        async with asyncio.timeout_at(began + seconds):
            return await _written_by_lane(edge, intake, lane, wanted)
    except MemoryFull as error:
        later, why = {"Retry-After": str(error.wait_seconds)}, f"{error}; nothing was written. Send it later."
        raise Problem("too-many-records", why, headers=later) from error
    except NotWritten as error:
        raise Problem("not-ready", f"Nothing was written: {error}. Send it again.") from error
    except BrokerRefuses as error:
        each = [{"refused": str(error) if isinstance(one, Keyed) else one} for one in wanted.records]
        raise Problem("refused-records", f"Nothing was written. {error}.", records=each) from error
    except (NotConfirmed, TimeoutError) as error:
        why = str(error) or f"the brokers were silent for {seconds:g} s"
        again = "Send it again" if wanted.key else f"Sent again it may be there twice: with {KEY} it would not"
        raise Problem("not-confirmed", f"It may have been written, or not: {why}. {again}.") from error


async def _written_by_lane(edge: Edge, intake: Intake, lane: int, wanted: Wanted) -> Reply:
    """By a new lane where the one at hand had been another worker's meanwhile, and had written nothing; once."""
    try:
        return await asyncio.shield(intake.write(lane, wanted))
    except NotWritten:
        if owner_of(edge, lane) != edge.own_url:
            raise
        return await asyncio.shield(intake.write(lane, wanted))


def _answer(topic: str, told: Reply) -> web.Response:
    ends: dict[int, int] = {}
    for place in told.outcomes:
        if isinstance(place, WrittenAt):
            ends[place.partition] = max(ends.get(place.partition, 0), place.offset + 1)
    position = {f"{topic}-{partition}": end for partition, end in sorted(ends.items())}
    written = sum(isinstance(one, WrittenAt) for one in told.outcomes)
    answer = json_response(
        {
            "topic": topic,
            "written": written,
            "refused": len(told.outcomes) - written,
            "records": _documents(told.outcomes),
            "position": position,
        }
    )
    answer.headers["Flagfall-Position"] = ",".join(f"{at}:{end}" for at, end in position.items())
    return answer


def _documents(outcomes: Sequence[Keyed | WrittenAt | str]) -> list[dict[str, Any]]:
    """What is told of each record, in the request's order."""
    return [
        one._asdict() if isinstance(one, WrittenAt) else {"refused": one}
        for one in outcomes
        if not isinstance(one, Keyed)
    ]


async def _sent_on(request: web.Request, owner: str, topic: str, brought: SentRecords, lane: int) -> web.Response:
    """The owner's answer, whatever it is."""
    edge = edge_of(request)
    assert edge.session is not None  # open from the application's start to its end
    headers = {hdrs.CONTENT_TYPE: brought.media_type, HEADER: trace_now().onward()}
    headers |= {} if brought.key is None else {KEY: brought.key}
    asked = edge.session.post(
        f"{owner.rstrip('/')}{OWN_INTAKE}",
        params={"topic": topic, "lane": str(lane)},
        data=brought.body,
        headers=headers,
        timeout=ClientTimeout(total=edge.limits.max_seconds),
        allow_redirects=False,
    )
    try:
        async with asked as answer:
            body = await answer.read()
            status, media_type, told = answer.status, answer.content_type, answer.headers
    except ClientConnectorError as error:
        why = f"its lane's owner {owner} {unreached(error)}"
        raise Problem("not-ready", f"Nothing was written: {why}. Send it again.") from error
    except (ClientError, OSError, TimeoutError) as error:
        why = f"its lane's owner {owner} {unreached(error)}"
        raise Problem("not-confirmed", f"It may have been written, or not: {why}.") from error
    if media_type == PROBLEM:
        document = orjson.loads(body)
        if document["type"].endswith(NOT_TAKEN):
            why = f"its lane's owner {owner} takes no records. {variable('http_intake')} is the same for all workers."
            raise Problem("not-ready", f"Nothing was written, as {why}")
        if document["status"] in (TYPES["no-key"].status, TYPES["not-allowed"].status):
            raise Problem("not-ready", f"Nothing was written by its lane's owner {owner}: {NO_KEY_OF_OURS}.")
        body = orjson.dumps(document | {"instance": address_of(request)})
    kept = {name: told[name] for name in ("Flagfall-Position", "Retry-After") if name in told}
    return web.Response(body=body, status=status, content_type=media_type, headers=kept)
