"""Texts have one code each as long as rows hold them, and none behind that."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.codecs.text_column import GroupColumn, TextColumn
from app.domain.errors import StateError
from app.engine.core.rows import texts as of_texts
from app.engine.core.rows.texts import UNKNOWN, TextCodes, codes_of, numbered

TEXTS = st.none() | st.text("ab\0", max_size=3) | st.sampled_from(["x" * 7, "x" * 8, "x" * 9, "é" * 40])
STEPS = st.lists(st.tuples(st.booleans(), st.lists(TEXTS, max_size=12)), max_size=12)


def in_utf8(texts: Iterable[str | None]) -> Blobs:
    return TextColumn.of(texts).utf8


def out_of_utf8(texts: Blobs) -> list[str | None]:
    return TextColumn(texts).tolist()


@given(STEPS)
def test_codes_are_those_of_a_dictionary_that_counts_rows(steps: list[tuple[bool, list[str | None]]]) -> None:
    codes, rows = TextCodes(), dict[str | None, int]()
    for come, texts in steps:
        if come:
            codes.hold(codes.give(in_utf8(texts)))
            for text in texts:
                rows[text] = rows.get(text, 0) + 1
        else:
            gone = [text for text in dict.fromkeys(texts) if text in rows]
            codes.release(codes.find(in_utf8(gone)))
            for text in gone:
                rows[text] -= 1
            rows = {text: count for text, count in rows.items() if count}
        assert len(codes) == len(rows)
        found = codes.find(in_utf8([*rows, "never"]))
        assert found[-1] == UNKNOWN
        assert len({*found.tolist()}) == len(rows) + 1
        assert out_of_utf8(codes.texts(found[:-1])) == [*rows]


def test_what_texts_took_is_given_back() -> None:
    codes, many = TextCodes(), [f"{n:0100}" for n in range(20_000)]
    kept = codes.give(in_utf8(many[:10]))
    codes.hold(kept)
    before = codes.nbytes
    for start in range(10, len(many), 500):
        given_ = codes.give(in_utf8(many[start : start + 500]))
        codes.hold(given_)
        codes.release(given_)
    assert codes.nbytes < before + 1_000_000
    assert out_of_utf8(codes.texts(kept)) == many[:10]


@given(st.lists(TEXTS, max_size=20))
def test_equal_texts_are_numbered_alike_as_they_come(texts: list[str | None]) -> None:
    numbers, first = numbered(in_utf8(texts))
    distinct = list(dict.fromkeys(texts))
    assert numbers.tolist() == [distinct.index(text) for text in texts]
    assert first.tolist() == [texts.index(text) for text in distinct]


@pytest.mark.parametrize("as_group", [TextColumn.of, lambda texts: np.array(texts, object)])
def test_groups_of_texts_have_codes_however_they_are_held(as_group: Callable[[list[str | None]], GroupColumn]) -> None:
    assert codes_of(as_group(["b", None, "b", ""])).tolist() == [0, 1, 0, 2]
    assert codes_of(np.array([7, -1, 7])).tolist() == [7, -1, 7]


@pytest.mark.parametrize("secret", [0, 2**63 - 1, 2**63, 2**64 - 1])
def test_texts_are_told_apart_whatever_the_secret_of_the_process(secret: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is another one at each start, and the loops run as plain Python, too, where a number may not fit its type."""
    monkeypatch.setattr(of_texts, "_SECRET", type(of_texts._SECRET)(secret))
    numbers, first = numbered(in_utf8([None, "", "x" * 9, "x" * 8, "", None]))
    assert numbers.tolist() == [0, 1, 2, 3, 1, 0]
    assert first.tolist() == [0, 1, 2, 3]


def test_two_texts_of_one_digest_are_an_error_and_never_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        of_texts, "_digests", lambda data, starts, lengths, secret: np.zeros((len(starts), 2), np.int64)
    )
    codes = TextCodes()
    codes.hold(codes.give(Blobs.of([b"a"])))
    for call in (codes.find, codes.give, lambda texts: numbered(Blobs.of([b"a", *texts]))):
        with pytest.raises(StateError, match="the texts b'b' and b'a' have one digest"):
            call(Blobs.of([b"b"]))
