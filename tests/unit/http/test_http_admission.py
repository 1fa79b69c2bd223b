"""No text, header or byte of a request is more than a problem: every parameter of every route, and what is none."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from multidict import MultiDict
from pydantic import SecretStr

from app.domain.rows import RowKey
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.edge.http.changes.change_handler import MEDIA_TYPE as EVENTS
from app.edge.http.problems import MEDIA_TYPE, Problem
from app.edge.http.query.instants import instant_range, to_us
from app.edge.http.query.parameters import RESERVED
from app.edge.http.query.read_query import read_query
from app.edge.http.query.seal import Seal
from app.edge.http.route import Route
from app.edge.http.routes.every_route import ROUTES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, server_of, zone_table
from tests.support.material.stored.tables import cells_of, ready_directory, task_of
from tests.support.material.views import DAYS, HOPPING, SHIFTED, UNEVEN

VIEWS = (ZONE_DEMAND, VENDOR_TRIPS, BY_BASE, DAYS, HOPPING, SHIFTED, UNEVEN)
ANSWERED = {200, 307, 400, 403, 404, 405, 414, 421, 503}
SEAL = Seal(SecretStr(""))
"""Of a worker without a token, by which anybody can make one."""
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
EDGES = (
    "0001-01-01T00:00:00+12:00",
    "9999-12-31T23:59:59.999999-23:59",
    "1969-12-31T23:59:59Z",
    "2100-01-01T00:00:00Z",
    "2024-W05-3T00:00:00Z",
    "366d",
    "999999999d",
    "-9223372036854775808",
    "99999999999999999999",
    "null",
    "desc",
    "allow",
)

texts = st.text(max_size=20).map(lambda text: quote(text, safe="", errors="surrogatepass").encode())
garbage = st.binary(max_size=20).map(lambda raw: raw.translate(None, b"\r\n"))
long = st.sampled_from([4_090, 4_100, 8_200]).map(lambda size: b"9" * size)
values = st.sampled_from(EDGES).map(lambda text: quote(text, safe="").encode()) | texts | garbage | long
names = st.sampled_from(sorted(RESERVED | {"zone", "base", "vendor", "hop"})).map(str.encode) | texts | garbage
pairs = st.lists(st.tuples(names, values).map(b"=".join), max_size=4)
queries = pairs.map(lambda given: b"?" + b"&".join(given) if given else b"")
headers = st.dictionaries(
    st.sampled_from([b"Accept", b"Accept-Encoding", b"Cookie", b"Content-Type", b"Host", b"Range", b"X"]),
    garbage,
    max_size=2,
)


class Caller:
    """Says to a running application whatever it is told to, byte by byte."""

    def __init__(self, runner: asyncio.Runner, port: int) -> None:
        self._runner, self._port = runner, port

    def status(self, target: bytes, extra: dict[bytes, bytes] | None = None, method: bytes = b"GET") -> int:
        """The status of the answer, whose body is a problem if it claims to be one."""
        head, _, body = self._runner.run(self._say(target, extra or {}, method)).partition(b"\r\n\r\n")
        if MEDIA_TYPE.encode() in head and method != b"HEAD":
            assert json.loads(body)["status"] == int(head.split()[1])
        return int(head.split()[1])

    async def _say(self, target: bytes, extra: dict[bytes, bytes], method: bytes) -> bytes:
        lines = [b"%s: %s" % pair for pair in ({b"Host": b"localhost"} | extra | {b"Connection": b"close"}).items()]
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(b"%s %s HTTP/1.1\r\n%s\r\n\r\n" % (method, target, b"\r\n".join(lines)))
        said = await reader.readuntil(b"\r\n\r\n")
        streams = EVENTS.encode() in said and method != b"HEAD"
        said += await (reader.readuntil(b"\n\n") if streams else reader.read())  # that one has no end
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        return said


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A worker with rows of two kinds of groups, whose other partition is a dead worker's: so queries are sent on."""
    rows = {RowKey(NOON_US, (base, 132)): cells_of(BY_BASE, seed) for seed, base in enumerate(["Ω", None, "b"])}
    tables: Any = {view: {} for view in VIEWS} | {ZONE_DEMAND: zone_table((0, 132), (1, None)), BY_BASE: rows}
    directory = ready_directory([task_of(0, tables)], partitions=2)
    directory.owners = {0: directory.url, 1: "http://127.0.0.1:1"}
    with asyncio.Runner() as runner:
        serving = server_of(tmp_path_factory.mktemp("data"), VIEWS)
        start = runner.run(serving.__aenter__())
        yield Caller(runner, runner.run(start(directory)).server.port or 0)
        runner.run(serving.__aexit__(None, None, None))


@settings(max_examples=300)
@given(
    route=st.sampled_from(ROUTES),
    view=st.sampled_from(VIEWS).map(lambda view: view.name.encode()) | texts | garbage,
    query=queries,
    extra=headers,
    method=st.sampled_from([b"GET", b"GET", b"HEAD", b"POST"]),
)
def test_whatever_a_route_is_asked_with_is_answered_in_words(
    caller: Caller, *, route: Route, view: bytes, query: bytes, extra: dict[bytes, bytes], method: bytes
) -> None:
    target = re.sub(rb"\{(view|file|topic)\}", lambda found: view, route.path.encode())
    assert caller.status(target + query, extra, method) in ANSWERED


@given(view=st.sampled_from(VIEWS), name=st.sampled_from(sorted(RESERVED)), value=values, order=st.booleans())
@example(view=ZONE_DEMAND, name="from", value=b"0001-01-01T00:00:00%2B12:00", order=False)
@example(view=ZONE_DEMAND, name="to", value=b"9999-12-31T23:59:59-12:00", order=True)
def test_rows_may_be_asked_for_with_any_value_of_any_parameter(
    caller: Caller, *, view: View, name: str, value: bytes, order: bool
) -> None:
    target = f"/v1/views/{view.name}/rows?partial=allow&{name}=".encode() + value
    assert caller.status(target + b"&order=desc" * order) in ANSWERED - {503}


@pytest.mark.parametrize("name", [b"Accept", b"Authorization", b"Last-Event-ID", b"X"])
@pytest.mark.parametrize("address", [b"/v1/views", b"/v1/views/zone_demand/rows", b"/v1/views/zone_demand/changes"])
def test_a_header_that_is_no_text_is_refused(caller: Caller, name: bytes, address: bytes) -> None:
    """What repeats it could not be written."""
    assert caller.status(address, {name: b"*/*\xc8"}) == 400
    assert caller.status(address, {b"X": "Ω".encode()}) in {200, 503}


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [(b"GET", b"/v1/views", 200), (b"GET", b"/nowhere", 404), (b"POST", b"/livez", 405)],
)
@settings(max_examples=50)
@given(expected=garbage)
@example(expected=b"100-continue")
@example(expected=b"\x80")
def test_a_caller_may_expect_anything(
    caller: Caller, *, method: bytes, address: bytes, status: int, expected: bytes
) -> None:
    assert caller.status(address, {b"Expect": expected}, method) in {status, 400}


@given(view=st.sampled_from(VIEWS), window_us=INT64, text=st.none() | st.text(max_size=4), number=INT64)
@example(view=ZONE_DEMAND, window_us=(1 << 63) - 1, text=None, number=1)
@example(view=HOPPING, window_us=-(1 << 63), text=None, number=-(1 << 63))
@example(view=UNEVEN, window_us=(1 << 63) - 1, text=None, number=-(1 << 63))
def test_a_forged_cursor_reaches_no_further_than_instants_do(
    caller: Caller, *, view: View, window_us: int, text: str | None, number: int
) -> None:
    for order in ("asc", "desc"):
        asked = {"partial": "allow", "order": order}
        query = read_query(view, MultiDict(asked))
        values = [text if is_text else number for is_text in view.texts]
        key = RowKey(None if view is VENDOR_TRIPS else window_us, tuple(values[len(view.texts) - len(view.groups) :]))
        target = f"/v1/views/{view.name}/rows?partial=allow&order={order}&cursor="
        assert caller.status(target.encode() + SEAL.sealed(query.cursor_after(key).encode()).encode()) in {200, 400}


@pytest.mark.parametrize("view", [ZONE_DEMAND, DAYS, UNEVEN])
def test_instants_end_where_no_record_of_the_source_can_be(view: View) -> None:
    first_us, last_us = instant_range(view)
    assert read_query(view, MultiDict({"from": to_iso(first_us), "to": to_iso(last_us)})).until_us == last_us
    assert first_us <= 0 < to_us("2101-01-01T00:00:00Z") - 1 <= last_us
    for beyond in (first_us - 1, last_us + 1):
        with pytest.raises(Problem, match="1970-01-01T00:00:00Z") as caught:
            read_query(view, MultiDict({"to": to_iso(beyond)}))
        assert caught.value.slug == "bad-parameter"
