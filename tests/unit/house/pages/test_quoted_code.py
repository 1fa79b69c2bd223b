"""What pages for who comes from elsewhere quote of the benchmarks stands there; every other block is run, or said not
to be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.pages.coming_from import CHECKOUT, PAGES, RUN, THEIRS, Block, blocks

LEFT_OUT = "…"

QUOTES = [one for one in blocks() if one.quoted_from is not None]


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"{quote.page}: {quote.quoted_from}")
def test_quoted_lines_stand_in_their_file_one_below_the_other(quote: Block) -> None:
    lines = stripped((CHECKOUT / str(quote.quoted_from)).read_text("utf-8"))
    at = 0
    for part in parts(quote):
        found = place_of(part, lines, at)
        assert found is not None, f"not in {quote.quoted_from}, in this order:\n" + "\n".join(part)
        at = found + len(part)


def test_each_system_that_the_benchmarks_have_in_java_or_spark_is_quoted() -> None:
    assert {quote.page for quote in QUOTES} == {"flink", "kafka-streams", "spark"}


def test_a_line_that_is_not_there_is_seen() -> None:
    assert place_of(["a", "c"], ["a", "b", "c"], 0) is None
    assert place_of(["b"], ["a", "b", "c"], 2) is None
    assert place_of(["b", "c"], ["a", "b", "c"], 0) == 1


def test_every_block_is_run_or_quoted_or_said_not_to_be_run() -> None:
    assert {one.kind for one in blocks() if one.quoted_from is None} == {*RUN, *THEIRS}
    for one in blocks():
        if one.kind in THEIRS and one.quoted_from is None:
            assert "not run here" in (PAGES / f"{one.page}.md").read_text("utf-8").split(f"```{one.kind}")[0]


def parts(quote: Block) -> Iterator[list[str]]:
    """Its lines below the file's name; another part behind each `…`."""
    part: list[str] = []
    for line in stripped(quote.text)[1:]:
        if line == LEFT_OUT:
            yield part
            part = []
        else:
            part.append(line)
    yield part


def place_of(part: list[str], lines: list[str], first: int) -> int | None:
    """From `first` on."""
    return next((at for at in range(first, len(lines)) if lines[at : at + len(part)] == part), None)


def stripped(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]
