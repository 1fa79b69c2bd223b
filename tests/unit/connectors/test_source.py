"""What is told of a file before Kafka's file source reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.edge.connectors.source import told_beforehand


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", None),
        (b"a,b\r\n1,2\r\n", None),
        (b"a,b\n1,2", "its last line has no end"),
        (b"a,b\n1,2\r", "its last line has no end"),
        ("Z\u00fcrich\n".encode(), "letters beyond ASCII"),
        (b"x" * (1 << 20) + b"\xff\n", "letters beyond ASCII"),
    ],
)
def test_what_nobody_expects_of_a_file_is_told(tmp_path: Path, content: bytes, told: str | None) -> None:
    file = tmp_path / "rides.csv"
    file.write_bytes(content)
    found = told_beforehand(file)
    assert found is None if told is None else told in str(found)


def test_a_file_that_only_connect_can_read_is_told_as_that(tmp_path: Path) -> None:
    assert "it is not here" in str(told_beforehand(tmp_path / "rides.csv"))
    assert "it cannot be read here (Is a directory)" in str(told_beforehand(tmp_path))
