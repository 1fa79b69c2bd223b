"""Rows whose groups are long texts: each is on some page, and no cursor is longer than callers may send."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import MultiDict
from pydantic import SecretStr
from yarl import URL

from app.domain.column import MAX_TEXT_BYTES
from app.domain.rows import RowKey
from app.domain.view import View
from app.edge.http.entry.security import MAX_ADDRESS_BYTES, MAX_LINE_BYTES
from app.edge.http.evidence.search_cursors import SearchCursor, decode, encode
from app.edge.http.problems import Problem
from app.edge.http.query.read_query import read_query
from app.edge.http.query.seal import Seal
from app.edge.http.query.text_places import EXACT_LETTERS, place_of, text_place
from app.edge.http.responses import MOST_HEADER_BYTES
from app.engine.core.searching import SearchSpan
from app.engine.core.views.belonging import RowAsked
from app.rides.views import VENDOR_TRIPS
from tests.support.http import BY_BASE, Client, server_of, url_of
from tests.support.material.stored.tables import cells_of, ready_directory, task_of

ROWS = f"/v1/views/{VENDOR_TRIPS.name}/rows"
LONG = ["M" * 12_500, "M" * MAX_TEXT_BYTES, "M" * EXACT_LETTERS, "M" * 20_000 + "N", "M" * 12_499 + "L"]
SHORT = [None, "", "A", "M", "MN", "Z", "é"]
SEAL = Seal(SecretStr(""))

texts = st.text("aé𝄞", max_size=4)
keys = st.builds(lambda begin, many, end: begin + "x" * many + end, texts, st.sampled_from([0, 126, 200]), texts)


def table(texts: list[str | None]) -> dict[RowKey, tuple[int, ...]]:
    return {RowKey(None, (text,)): cells_of(VENDOR_TRIPS, at) for at, text in enumerate(texts)}


async def pages(client: Client, **asked: str) -> tuple[list[Any], list[str]]:
    """The keys of all pages, and the cursors between them."""
    found, cursors = list[Any](), list[str]()
    while True:
        answer = await client.get(ROWS, params=asked | ({"cursor": cursors[-1]} if cursors else {}))
        assert answer.status == 200, await answer.text()
        page = await answer.json()
        found += [row["group"]["vendor"] for row in page["data"]]
        if page["meta"]["next_cursor"] is None:
            return found, cursors
        cursors.append(page["meta"]["next_cursor"])


@pytest.mark.parametrize("asked", [{}, {"order": "desc"}, {"top": "1", "among": "group"}])
async def test_paging_goes_past_texts_of_every_length(tmp_path: Path, asked: dict[str, str]) -> None:
    """Of two workers, each of which pages through its own."""
    here, there = (
        ready_directory([task_of(p, {VENDOR_TRIPS: table([*LONG[p:], *SHORT])})], partitions=2) for p in (0, 1)
    )
    async with server_of(tmp_path) as serve:
        owner = await serve(there)
        here.owners[1] = url_of(owner)
        client = await serve(here)
        there.owners[0] = url_of(client)
        found, cursors = await pages(client, limit="1", **asked)
        assert found == (await pages(client, limit="100", **asked))[0]
    assert len(found) == len(set(found)) == len(LONG) + len(SHORT)
    assert set(found) == {*LONG, *SHORT}
    assert max(map(len, cursors)) < MOST_HEADER_BYTES


async def test_a_cursor_in_a_header_is_one_that_clients_take(tmp_path: Path) -> None:
    async with server_of(tmp_path) as serve:
        client = await serve(ready_directory([task_of(0, {VENDOR_TRIPS: table(LONG)})]))
        first = await client.get(ROWS, params={"limit": "1", "format": "csv"})
        cursor = first.headers["Flagfall-Next-Cursor"]
        assert len(cursor) < MOST_HEADER_BYTES
        assert (await client.get(ROWS, params={"limit": "9", "format": "csv", "cursor": cursor})).status == 200


async def test_a_cursor_is_taken_behind_the_longest_address(tmp_path: Path) -> None:
    """What was asked for the first page is asked for the second."""
    vendors = [("limit", "1"), *(("vendor", text) for text in ["A", "B", "C"])]
    left = MAX_ADDRESS_BYTES - len(f"{ROWS}?{urlencode([*vendors, ('vendor', '')])}")
    asked = [*vendors, ("vendor", "M" * left)]
    async with server_of(tmp_path) as serve:
        client = await serve(ready_directory([task_of(0, {VENDOR_TRIPS: table(["A", "B", "C"])})]))
        first = await (await client.get(URL(f"{ROWS}?{urlencode(asked)}", encoded=True))).json()
        for more, status in (([("cursor", first["meta"]["next_cursor"])], 200), ([("limit", "1")], 414)):
            answer = await client.get(URL(f"{ROWS}?{urlencode([*asked, *more])}", encoded=True))
            assert answer.status == status
        endless = await client.get(URL(f"{ROWS}?cursor={'x' * (MAX_ADDRESS_BYTES + 1)}", encoded=True))
        assert endless.status == 414


@pytest.mark.parametrize("letter", ["M", "\x01", "𝄞", "%"])
def test_a_cursor_of_any_letters_fits_between_workers_too(letter: str) -> None:
    query = read_query(BY_BASE, MultiDict(limit="1"))
    cursor = query.cursor_after(place_of(RowKey(0, (letter * 60_000, 1))))
    assert len(SEAL.sealed(cursor.encode())) < MOST_HEADER_BYTES
    assert len(urlencode({"cursor": cursor})) < MAX_LINE_BYTES - 3 * MAX_ADDRESS_BYTES
    again = read_query(BY_BASE, MultiDict(limit="1", cursor=cursor))
    assert ("cursor", cursor) in again.parameters()  # as another worker is asked


def test_a_cursor_with_more_of_a_text_than_any_holds_is_refused() -> None:
    cursor = read_query(BY_BASE, MultiDict(limit="1")).cursor_after(RowKey(0, ("M" * 1_000, 1)))
    with pytest.raises(Problem, match="The cursor's key is not one of by_base"):
        read_query(BY_BASE, MultiDict(limit="1", cursor=cursor))


@given(one=keys, other=keys)
def test_texts_stand_by_code_point_and_those_that_begin_alike_for_long_apart(one: str, other: str) -> None:
    if one[:EXACT_LETTERS] != other[:EXACT_LETTERS]:
        assert (one < other) == (text_place(one) < text_place(other))
    else:
        assert (one == other) == (text_place(one) == text_place(other))


def search_of(view: View, group: tuple[str, ...]) -> SearchCursor:
    return SearchCursor(
        view=view.name,
        version=view.version,
        start_us=None,
        end_us=None,
        group=group,
        row=view.neutral,
        position=(7,),
        wanted={0: 3},
        found=view.neutral,
        at=SearchSpan("rides.yellow", 0, 2, 7, 0),
    )


def test_a_cursor_of_evidence_does_not_repeat_what_the_address_says_of_the_row() -> None:
    asked = RowAsked(None, None, ("".join(map(chr, range(0x4E00, 0x4E00 + 4_000))),))
    cursor = search_of(VENDOR_TRIPS, asked.group)
    text = encode(SEAL, cursor)
    assert len(text) < 2_000
    assert decode(SEAL, VENDOR_TRIPS, asked, text, to_the_end=False) == cursor
    with pytest.raises(Problem, match="made for another row"):
        decode(SEAL, VENDOR_TRIPS, asked._replace(group=(asked.group[0] + "x",)), text, to_the_end=False)


async def test_the_first_page_links_no_address_that_the_worker_refuses(tmp_path: Path) -> None:
    async with server_of(tmp_path, views=[VENDOR_TRIPS]) as serve:
        client = await serve(ready_directory([task_of(0, {VENDOR_TRIPS: table(["M" * 20_000, "short"])})]))
        text = await (await client.get("/")).text()
    assert re.findall(r'href="[^"]*vendor=(\w+)', text) == ["short"]
    assert "too long to be named" in text
