"""One answer from all tasks: those owned here are copied, the others asked of their owners, in one hop.

A worker that is asked by another answers for its own tasks only; nothing is ever forwarded twice. What could
not be had is named, with why: the caller refuses, or says that the answer is partial.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from aiohttp import ClientError, ClientTimeout

from app.domain.event_time import NO_WATERMARK
from app.domain.records import TopicPartition
from app.domain.view import View
from app.edge.http.context import Edge
from app.edge.http.problems import TYPES, Problem
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.own_parts import own_parts, too_much_there
from app.edge.http.rows.parts import Part, decode_parts
from app.engine.drive.ownership.directory import Directory

ATTEMPTS = 2
TIMEOUT_SECONDS = 1.0
"""Of one attempt, until an owner begins to answer; one that folds many rows then has half of the request's time."""
MANY_BYTES = 500_000
"""A longer answer is read in a thread: this takes about 5 ms."""


@dataclass
class Gathered:
    """Parts by partition, and why each of the other partitions is missing."""

    parts: dict[int, Part] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)

    @property
    def is_partial(self) -> bool:
        return bool(self.missing)

    @property
    def lowest_watermark_us(self) -> int:
        """Up to where every input of every partition was seen; NO_WATERMARK if one is missing or empty."""
        seen = [state.watermark_us for part in self.parts.values() for state in part.inputs.values()]
        return NO_WATERMARK if self.missing or not seen else min(seen)

    @property
    def held_back_by(self) -> list[TopicPartition]:
        """Those of the lowest watermark while others are ahead; an empty one has none, which is lower still.

        None while a partition is missing: that is what holds the rest back then.
        """
        seen = {
            TopicPartition(topic, partition): state.watermark_us
            for partition, part in sorted(self.parts.items())
            for topic, state in sorted(part.inputs.items())
        }
        lowest_us, highest_us = min(seen.values(), default=0), max(seen.values(), default=0)
        return (
            [] if self.missing or lowest_us == highest_us else sorted(at for at, us in seen.items() if us == lowest_us)
        )

    @property
    def closed_to_us(self) -> int:
        """Windows that end at or before it take no more records anywhere; NO_WATERMARK if one partition is missing."""
        closed = [state.closed_to_us for part in self.parts.values() for state in part.inputs.values()]
        return NO_WATERMARK if self.missing or not closed else min(closed)


async def gather(edge: Edge, query: RowsQuery) -> Gathered:
    """The parts of every partition of the source that can be had within two attempts.

    Raises the `partitions-missing` problem if some are missing and the query does not allow it, and `too-much` if a
    worker would have to fold more rows than it may, here or there.
    """
    gathered = Gathered()
    for _ in range(ATTEMPTS):
        await _take_own(edge, query, gathered)
        away = _by_owner(edge.directory(query.view), gathered)
        if not away:
            break
        await asyncio.gather(*(_ask(edge, url, asked, query, gathered) for url, asked in away.items()))
    if gathered.is_partial and not query.partial_allowed:
        raise _refusal(edge, query.view, gathered)
    return gathered


async def _take_own(edge: Edge, query: RowsQuery, gathered: Gathered) -> None:
    directory = edge.directory(query.view)
    wanted = [p for p in range(directory.partitions) if p not in gathered.parts]
    own = await own_parts(edge, query, wanted)
    gathered.parts |= {part.partition: part for part in own}
    gathered.missing = {p: _why_not_here(directory, p) for p in wanted if p not in gathered.parts}


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


def _by_owner(directory: Directory, gathered: Gathered) -> dict[str, list[int]]:
    """The missing partitions that another worker owns, by its URL."""
    away: dict[str, list[int]] = defaultdict(list)
    for partition in gathered.missing:
        owner = directory.owners.get(partition)
        if owner is not None and owner != directory.url:
            away[owner].append(partition)
    return away


async def _ask(edge: Edge, url: str, partitions: list[int], query: RowsQuery, gathered: Gathered) -> None:
    """Add what one other worker gives; an owner that fails leaves its partitions missing, and why."""
    view = query.view
    assert edge.session is not None  # open from the application's start to its end
    parameters = [*query.parameters(), *(("partition", str(p)) for p in partitions)]
    address = f"{url.rstrip('/')}/v1/internal/views/{view.name}/parts"
    seconds, untimed = TIMEOUT_SECONDS, ClientTimeout(total=None)
    try:
        async with (
            asyncio.timeout(seconds) as deadline,
            edge.session.get(address, params=parameters, timeout=untimed, allow_redirects=False) as answer,
        ):
            seconds = edge.limits.max_seconds / 2
            deadline.reschedule(asyncio.get_running_loop().time() + seconds)
            body = await answer.read()
            if answer.status == TYPES["too-much"].status:
                raise too_much_there(url, body)
            if answer.status != 200:
                raise ValueError(f"it answered {answer.status}")
            given = await edge.long_work.run(len(body) > MANY_BYTES, decode_parts, view, body)
    except TimeoutError:
        why = f"its owner {url} did not answer within {seconds:g} s"
    except (ClientError, OSError) as error:
        why = f"its owner {url} cannot be reached ({type(error).__name__})"
    except (ValueError, KeyError, TypeError) as error:
        why = f"its owner {url} gave no usable answer ({error})"
    else:
        gathered.parts |= {p.partition: p for p in given if p.partition in partitions and p.version == view.version}
        why = f"its owner {url} does not hold version {view.version} of it now"
    for partition in partitions:
        if partition in gathered.parts:
            gathered.missing.pop(partition, None)
        else:
            gathered.missing[partition] = why


def missing_facts(edge: Edge, view: View, gathered: Gathered) -> list[dict[str, object]]:
    """The missing partitions as answers and problems name them."""
    owners = edge.directory(view).owners
    return [{"partition": p, "owner": owners.get(p), "why": why} for p, why in sorted(gathered.missing.items())]


def _refusal(edge: Edge, view: View, gathered: Gathered) -> Problem:
    named = "; ".join(f"partition {p}: {why}" for p, why in sorted(gathered.missing.items()))
    detail = f"{view.name} is not whole: {named}. Ask again, or take what there is with partial=allow."
    return Problem("partitions-missing", detail, missing=missing_facts(edge, view, gathered))
