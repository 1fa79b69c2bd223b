"""The benchmark of questions beside a stream: what it asks, what counts, and that hostile callers do what they say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from benchmarks.http import hostile
from benchmarks.http.asking import AskedRow, Load, asking, known_rows, nearest, pages, proving, scanning
from benchmarks.http.figures import Cases, headline, per_core
from benchmarks.http.followers import MOVING, Told, as_commits, following
from benchmarks.latency.committed import Commit

ROW = AskedRow("trips", {"zone": "7"}, "2026-01-05T05:00:00Z", "2026-01-05T05:05:00Z", 3)
EVENT = b'event: changes\ndata: {"meta": {"position": {"rides.yellow-0": 5}}}\n\n'


def case(lag_ms: float, cores: float = 0.5, **more: Any) -> dict[str, Any]:
    return {"lag": {"p99_ms": lag_ms}, "worker_cores": cores, "per_second": 0.0, **more}


CASES: Cases = {
    "alone": case(50, 0.4),
    "bare x16": case(60, 0.9, per_second=5000.0),
    "point x1": case(55, p99_ms=4.0),
    "point x16": case(75, 1.0, per_second=1200.0),
    "followers": case(100, delay={"p99_ms": 140.0}),
    "hostile idle": case(200),
    "hop x1": {"p99_ms": 9.0},
}


class Peer:
    """A server that answers as a worker would."""

    def __init__(self) -> None:
        self.agrees, self.asked = True, list[str]()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        if request.path == MOVING.partition("?")[0]:
            return web.Response(body=EVENT * 3, content_type="text/event-stream")
        if request.path.endswith("/evidence"):
            following = None if "cursor" in request.query else "b"
            return web.json_response(
                {
                    "data": [1] if following is None else [1, 2],
                    "meta": {"next_cursor": following, "agrees": self.agrees},
                }
            )
        window = {"start": ROW.start, "end": ROW.end}
        rows = [{"window": window, "group": {"zone": zone, "zone_name": "x"}, "count": 3} for zone in (7, None)]
        meta = {"next_cursor": None if "cursor" in request.query else "c"}
        return web.json_response({"data": rows, "meta": meta, "groups": [{"name": "zone"}]})


@pytest.fixture
async def peer() -> Peer:
    return Peer()


@pytest.fixture
async def server(peer: Peer) -> AsyncIterator[TestServer]:
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", peer.answer)
    server = TestServer(app)
    await server.start_server()
    yield server
    await server.close()


@pytest.fixture
async def session(server: TestServer) -> AsyncIterator[ClientSession]:
    async with ClientSession(server.make_url("/")) as session:
        yield session


def test_the_figures_at_the_top_are_of_the_worst_lag_and_of_a_whole_core() -> None:
    assert headline(CASES) == {
        "point_ratio": 0.2,  # 1200 of 0.6 cores beside 5000 of 0.5
        "point_p99_ms": 4.0,
        "hop_p99_ms": 9.0,
        "sse_p99_ms": 140.0,
        "lag_ratio": 2.0,
        "hostile_lag_ratio": 4.0,
    }


def test_a_load_that_took_nothing_of_the_worker_is_no_measure() -> None:
    with pytest.raises(ValueError, match="took nothing"):
        per_core(CASES | {"point x16": case(50, 0.4)}, "point x16")


def test_the_nearest_row_is_so_by_the_ratio_of_records() -> None:
    rows = [ROW._replace(records=records) for records in (1, 400, 3_000)]
    assert [nearest(rows, count).records for count in (10, 1_000, 1_200, 100_000)] == [1, 400, 3_000, 3_000]


def test_an_event_counts_as_a_commit_of_each_task_that_it_tells_of() -> None:
    told = [Told(7.5, {"rides.yellow-0": 5, "rides.yellow-1": 6, "rides.green-0": 2})]
    assert as_commits(told) == [
        Commit(7.5, 0, {"rides.yellow": 5, "rides.green": 2}, 0.0),
        Commit(7.5, 1, {"rides.yellow": 6}, 0.0),
    ]


async def test_rows_are_asked_for_alone_and_their_records_until_the_last_page(
    session: ClientSession, peer: Peer
) -> None:
    assert await known_rows(session, "trips") == [ROW, ROW]
    peer.asked.clear()
    assert (await proving(session, ROW)(0))["records"] == 3
    assert peer.asked == [ROW.evidence, f"{ROW.evidence}&cursor=b"]
    told = await asking(session, [ROW.address], 2)(0.05)
    assert told["per_second"] > 0
    assert set(peer.asked[2:]) == {ROW.address}


@pytest.mark.parametrize("wrong", ["agrees", "records"])
async def test_records_that_do_not_make_the_row_end_the_run(session: ClientSession, peer: Peer, wrong: str) -> None:
    peer.agrees = wrong != "agrees"
    with pytest.raises(SystemExit):
        await proving(session, ROW if wrong == "agrees" else ROW._replace(records=4))(0)


async def test_a_scan_reads_the_same_pages_in_each_format(session: ClientSession, peer: Peer) -> None:
    addresses = await pages(session, "trips", 30_000)
    assert len(addresses) == 2
    assert (await scanning(session, addresses, "csv")(0))["rows"] == 20_000
    assert peer.asked[2:] == [f"{address}&format=csv" for address in addresses]


async def test_clients_that_follow_count_all_events_and_note_some(session: ClientSession) -> None:
    noted, events = await following(session, 12, 0)
    assert (events, [len(one) for one in noted]) == (36, [3] * 10)
    assert noted[0][0].position == {"rides.yellow-0": 5}


@pytest.mark.parametrize("name", ["idle", "slow", "deaf"])
async def test_hostile_callers_hold_so_many_connections(
    server: TestServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(hostile, name.upper(), 5)
    load: Load = getattr(hostile, name)(server.port)
    told = await load(0.05)
    assert told == {"connections": 5, **({"bytes": 5} if name == "slow" else {})}


async def test_hostile_callers_ask_for_everything_and_tell_how_they_were_answered(session: ClientSession) -> None:
    assert set((await hostile.greedy(session)(0.05))["answers"]) == {"200"}


async def test_after_nonsense_it_is_asked_whether_the_worker_lives(server: TestServer, session: ClientSession) -> None:
    told = await hostile.nonsense(server.port or 0, session)(0.1)
    assert told["sent"] >= 1
    assert told["livez"] == 200
