"""Records in over HTTP: each usable one written once and told where it stands, whichever worker is asked."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.base.registry.client import Registry, Version
from app.base.settings import Settings
from app.codecs.avro.schema import WriterSchema
from app.domain.windows.instants import to_iso
from app.edge.http.intake.brought import KEY, MOST_BODY_BYTES, MOST_RECORDS
from app.edge.intake import encoding, latest_schema
from app.rides.ride import avro_schema
from tests.integration.intake.brought import PATH, problem, stored
from tests.support.http import Client, one_task, server_of
from tests.support.machine.waiting import wait_for
from tests.support.material.rides_in_json import rides_in_json

LINES = {"Content-Type": "application/x-ndjson"}


def lines(records: Sequence[object]) -> bytes:
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


async def test_a_ride_is_written_and_told_where_it_stands(client: Client, taking: Settings) -> None:
    (ride,) = rides_in_json(0, 1)
    answer = await client.post("/v1/rides?service=yellow", json=ride)
    told = await answer.json()
    assert (answer.status, told["written"], told["refused"]) == (200, 1, 0), told
    (place,) = told["records"]
    assert stored(taking) == {("rides.yellow", place["partition"], place["offset"]): ride["ride_id"]}
    assert told["position"] == {f"rides.yellow-{place['partition']}": place["offset"] + 1}
    assert answer.headers["Flagfall-Position"] == f"rides.yellow-{place['partition']}:{place['offset'] + 1}"


async def test_of_many_lines_each_is_told_what_became_of_it(client: Client, taking: Settings) -> None:
    good = rides_in_json(0, 6)
    odd = {
        1: (lines([good[1] | {"fare_cent": 1}]), "fare_cent: there is no such field; did you mean 'fare_cents'?"),
        2: (b"{\n", "no JSON: "),
        3: (lines([good[3] | {"fare_cents": "1.5"}]), 'fare_cents: "1.5" is no null or long'),
        4: (lines([good[4] | {"fare_cents": 2**40}]), "fare_cents: 1099511627776 is out of bounds"),
        5: (lines([[1]]), "a record is a JSON object, not [1]"),
    }
    sent = b"".join(odd[at][0] if at in odd else lines([ride]) for at, ride in enumerate(good))
    answer = await client.post(PATH, data=sent, headers=LINES)
    told = await answer.json()
    assert (answer.status, told["written"], told["refused"]) == (200, 1, 5), told
    for at, (_, why) in odd.items():
        assert told["records"][at]["refused"].startswith(why)
    assert list(stored(taking).values()) == [good[0]["ride_id"]]


async def test_a_request_that_comes_again_is_answered_the_same(client: Client, taking: Settings) -> None:
    rides = rides_in_json(0, 3)
    first = await (await client.post(PATH, json=rides, headers={KEY: "n1"})).json()
    again = await (await client.post(PATH, json=rides, headers={KEY: "n1"})).json()
    assert first == again
    assert len(stored(taking)) == 3
    reused = await client.post(PATH, json=rides[:1], headers={KEY: "n1"})
    assert (await problem(reused))[:2] == (422, "key-reused")
    elsewhere = await client.post("/v1/rides?service=green", json=rides, headers={KEY: "n1"})
    assert (await problem(elsewhere))[:2] == (422, "key-reused")
    assert len(stored(taking)) == 3


async def test_a_request_that_was_written_is_answered_the_same_when_the_schema_takes_it_no_more(
    client: Client, taking: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latest_schema, "SCHEMA_SECONDS", 0.01)
    (ride,) = rides_in_json(0, 1)
    first = await client.post(PATH, json=ride, headers={KEY: "n1"})
    narrower = avro_schema()
    narrower["fields"] = [field for field in narrower["fields"] if field["name"] != "tip_cents"]
    narrow = Version(2, WriterSchema(Registry(taking).register("narrow-value", narrower), json.dumps(narrower)))
    asked: list[str] = []

    def versions(registry: Registry, subject: str) -> list[Version]:
        asked.append(subject)
        return [narrow]

    monkeypatch.setattr(Registry, "versions", versions)
    await asyncio.to_thread(wait_for, lambda: len(asked) > 1, "the later schema is in hand")
    again = await client.post(PATH, json=ride, headers={KEY: "n1"})
    assert (again.status, await again.json()) == (200, await first.json())
    assert again.headers["Flagfall-Position"] == first.headers["Flagfall-Position"]
    for _ in range(2):  # what was never written is known by no key
        status, slug, told = await problem(await client.post(PATH, json=ride, headers={KEY: "n2"}))
        assert (status, slug) == (422, "refused-records")
        assert told["records"][0]["refused"].startswith("tip_cents: there is no such field")
    del ride["tip_cents"]
    reused = await client.post(PATH, json=ride, headers={KEY: "n1"})
    assert (await problem(reused))[:2] == (422, "key-reused")
    mended = await client.post(PATH, json=ride, headers={KEY: "n2"})
    assert (mended.status, len(stored(taking))) == (200, 2)


async def test_a_ride_that_would_be_too_far_ahead_is_refused_and_the_request_is_answered_the_same_again(
    client: Client, taking: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead_us = time.time_ns() // 1_000 + 3_600_000_000
    good, other = rides_in_json(0, 2)
    other["dropoff_at_us"] = ahead_us
    first = await client.post(PATH, json=[good, other], headers={KEY: "n1"})
    told = await first.json()
    assert (first.status, told["written"], told["refused"]) == (200, 1, 1), told
    why = f"dropoff_at_us: {to_iso(ahead_us)} is more than 10m ahead of the clock by which it would be written"
    assert told["records"][1] == {"refused": why}
    status, slug, document = await problem(await client.post(PATH, json=other, headers={KEY: "n2"}))
    assert (status, slug, document["records"]) == (422, "refused-records", [{"refused": why}])
    monkeypatch.setattr(encoding, "is_skewed", lambda *_: False)  # its time has come
    later = await client.post(PATH, json=[good, other], headers={KEY: "n1"})
    assert (later.status, await later.json()) == (200, told)
    assert list(stored(taking).values()) == [good["ride_id"]]


async def test_ten_thousand_records_of_which_one_is_good_have_one_key(client: Client, taking: Settings) -> None:
    rides = [ride | {"fare_cents": f"{'é' * 99}{at}"} for at, ride in enumerate(rides_in_json(0, 1) * MOST_RECORDS)]
    sent = lines([{"ride_id": ride["ride_id"], "fare_cents": ride["fare_cents"]} for ride in rides[1:]])
    sent += lines(rides_in_json(0, 1))
    first = await client.post(PATH, data=sent, headers={**LINES, KEY: "n1"})
    again = await client.post(PATH, data=sent, headers={**LINES, KEY: "n1"})
    told = await first.json()
    assert (first.status, told["written"], told["refused"]) == (200, 1, MOST_RECORDS - 1)
    assert (again.status, await again.json()) == (200, told)
    assert len(stored(taking)) == 1


@pytest.mark.parametrize(
    ("path", "sent", "told"),
    [
        (
            PATH,
            {"data": b"{}", "headers": {"Content-Type": "text/plain"}},
            (415, "not-taken-so", "application/x-ndjson"),
        ),
        (
            PATH,
            {"data": b"{}", "headers": {"Content-Type": "application/json; charset=latin-1"}},
            (415, "not-taken-so", "UTF-8, not as latin-1"),
        ),
        (PATH, {"data": b"{}", "headers": {**LINES, "Content-Encoding": "br"}}, (415, "not-taken-so", "gzip, deflate")),
        (PATH, {"data": b"{}", "headers": {**LINES, "Content-Encoding": "gzip"}}, (400, "bad-request", "is no gzip")),
        (PATH, {"data": b'{"a": 1, "a": 2}', "headers": LINES}, (422, "refused-records", "each says why")),
        ("/v1/rides?service=yellow&service=green", {"json": {}}, (400, "bad-parameter", "may be given once")),
        ("/v1/internal/intake?topic=rides.yellow&lane=1&lane=2", {"json": {}}, (400, "bad-parameter", "given once")),
        (PATH, {"data": b"{", "headers": {"Content-Type": "application/json"}}, (400, "bad-request", "no JSON")),
        (PATH, {"json": []}, (400, "bad-request", "1 to 10,000 records")),
        (PATH, {"data": b"\n" * 9, "headers": LINES}, (400, "bad-request", "1 to 10,000 records")),
        (PATH, {"data": b"1\n" * (MOST_RECORDS + 1), "headers": LINES}, (400, "bad-request", "10,001")),
        (PATH, {"json": {}, "headers": {KEY: "x" * 201}}, (400, "bad-request", "200 letters")),
        (PATH, {"json": {"a": 1}}, (422, "refused-records", "each says why")),
        (f"{PATH}?a=1", {"json": {}}, (400, "bad-parameter", "takes no parameters")),
        ("/v1/rides", {"json": {}}, (400, "bad-parameter", "yellow, green")),
        ("/v1/rides?service=red", {"json": {}}, (400, "bad-parameter", "yellow, green")),
        ("/v1/topics/windows.zone_demand/records", {"json": {}}, (404, "unknown-topic", "rides.yellow")),
        (PATH, {"data": b" " * (MOST_BODY_BYTES + 1), "headers": LINES}, (413, "too-large", "4,000,000 bytes")),
        ("/v1/internal/intake?topic=rides.yellow&lane=9", {"json": {}}, (400, "bad-parameter", "0 to 3")),
        ("/v1/internal/intake?topic=x&lane=1", {"json": {}}, (404, "unknown-topic", "rides.yellow")),
    ],
)
async def test_what_cannot_be_taken_is_told_and_not_written(
    client: Client, taking: Settings, path: str, sent: dict[str, Any], told: tuple[int, str, str]
) -> None:
    answer = await client.post(path, **sent)
    status, slug, document = await problem(answer)
    assert (status, slug, told[2] in document["detail"]) == (*told[:2], True), document
    assert stored(taking) == {}


async def test_a_worker_takes_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    async with server_of(tmp_path) as serve:
        client = await serve(one_task())
        status, slug, document = await problem(await client.post(PATH, json={}))
    assert (status, slug) == (403, "not-taken")
    assert "FLAGFALL_HTTP_INTAKE=true" in document["detail"]
