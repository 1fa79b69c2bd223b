"""Whoever waits for an answer over HTTP: bounds, patience, and what an error says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

import pytest

from app.base.asking import Unanswered, get, put
from app.base.exported import exported
from app.base.worker_door import WorkerDoor

SECONDS = 30.0


class Reply(NamedTuple):
    status: int
    body: bytes = b"{}"
    headers: dict[str, str] = {}  # noqa: RUF012  (never changed)


Serving = Callable[..., str]


@pytest.fixture
def serving() -> Iterator[Serving]:
    """Starts servers of the replies that are given, the last one again and again; gives their URL."""
    servers: list[ThreadingHTTPServer] = []

    def start(*replies: Reply) -> str:
        left = list(replies)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                reply = left.pop(0) if len(left) > 1 else left[0]
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def do_PUT(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None: ...

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("told", ["3", "", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"])
@pytest.mark.parametrize("status", [429, 503])
def test_who_is_told_to_wait_waits_as_long_and_asks_again(serving: Serving, status: int, told: str) -> None:
    busy, slept = Reply(status, headers={"Retry-After": told} if told else {}), list[float]()
    answer = get(serving(busy, busy, Reply(200)), timeout_seconds=SECONDS, patience_seconds=60, sleep=slept.append)
    assert answer.is_ok
    assert slept == [3.0 if told == "3" else 1.0] * 2


def test_nobody_waits_beyond_his_patience(serving: Serving) -> None:
    slept = list[float]()
    url = serving(Reply(429, headers={"Retry-After": "61"}))
    answer = get(url, timeout_seconds=SECONDS, patience_seconds=60, sleep=slept.append)
    assert (answer.status, slept) == (429, [])


def test_who_has_no_patience_asks_once(serving: Serving) -> None:
    assert get(serving(Reply(503), Reply(200)), timeout_seconds=SECONDS).status == 503


def test_an_answer_without_end_is_none(serving: Serving) -> None:
    with pytest.raises(Unanswered, match="more than 10 bytes"):
        get(serving(Reply(200, b"x" * 11)), timeout_seconds=SECONDS, most_bytes=10)


def test_where_nothing_answers_the_error_names_the_address(unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}/readyz"
    with pytest.raises(Unanswered, match=f"{url}: ConnectError"):
        get(url, timeout_seconds=SECONDS)
    with pytest.raises(Unanswered, match="InvalidURL"):
        get("http://a:b", timeout_seconds=SECONDS)


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"\xff"])
def test_what_is_no_document_is_told_as_it_came(serving: Serving, body: bytes) -> None:
    with pytest.raises(Unanswered, match="answered 200, and no JSON object"):
        get(serving(Reply(200, body)), timeout_seconds=SECONDS).document()


def test_a_refusal_says_what_the_problem_says(serving: Serving) -> None:
    problem = json.dumps({"title": "Not ready", "detail": "it recovers"}).encode()
    assert get(serving(Reply(503, problem)), timeout_seconds=SECONDS).problem == "503: Not ready: it recovers"
    assert get(serving(Reply(502, b"<html>")), timeout_seconds=SECONDS).problem == "502: <html>"


def test_an_export_is_fetched_from_where_it_is(serving: Serving) -> None:
    owner = serving(Reply(200, b"rows"))
    asked = serving(Reply(429, headers={"Retry-After": "0"}), Reply(307, headers={"Location": f"{owner}/export"}))
    assert exported(WorkerDoor(asked), "zone_demand", 1) == b"rows"


def test_an_export_is_awaited_while_its_task_changes_hands(serving: Serving, unused_tcp_port: int) -> None:
    gone = Reply(307, headers={"Location": f"http://127.0.0.1:{unused_tcp_port}/export"})
    owned = Reply(307, headers={"Location": f"{serving(Reply(200, b'rows'))}/export"})
    slept = list[float]()
    assert exported(WorkerDoor(serving(gone, Reply(503), owned)), "zone_demand", 1, sleep=slept.append) == b"rows"
    assert len(slept) == 2


def test_an_export_that_breaks_off_is_asked_for_again(serving: Serving) -> None:
    cut, slept = Reply(200, b"ro", headers={"Content-Length": "4"}), list[float]()
    assert exported(WorkerDoor(serving(cut, Reply(200, b"rows"))), "zone_demand", 1, sleep=slept.append) == b"rows"
    assert len(slept) == 1


def test_who_waited_in_vain_is_told_which_owner_is_silent(serving: Serving, unused_tcp_port: int) -> None:
    silent = f"http://127.0.0.1:{unused_tcp_port}/export"
    asked = serving(Reply(307, headers={"Location": silent}))
    with pytest.raises(Unanswered, match=f"{asked} sends on to {silent}: ConnectError"):
        get(asked, timeout_seconds=SECONDS)


def test_an_export_is_refused_at_once_where_waiting_is_of_no_use(serving: Serving, unused_tcp_port: int) -> None:
    def nobody_waits(seconds: float) -> None:
        raise AssertionError(f"waited {seconds} s")

    with pytest.raises(Unanswered, match=r"export\?partition=1 answered 404"):
        exported(WorkerDoor(serving(Reply(404))), "zone_demand", 1, sleep=nobody_waits)
    with pytest.raises(Unanswered, match="ConnectError"):
        exported(WorkerDoor(f"http://127.0.0.1:{unused_tcp_port}"), "zone_demand", 1, sleep=nobody_waits)


def test_what_is_put_is_answered(serving: Serving) -> None:
    assert put(serving(Reply(200)), {"compatibility": "NONE"}, timeout_seconds=SECONDS).is_ok
