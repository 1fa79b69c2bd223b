"""`flagfall rights`: whom rights are given to."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from app.edge.cli.main import cli


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("", "a user without a name"),
        (" ", "a user without a name"),
        ("User:worker-2026", "name the user as 'worker-2026': Kafka's `User:` is put before it"),
        ("User:*", "`*` is everybody for Kafka"),
        ("*", "`*` is everybody for Kafka"),
    ],
)
def test_rights_are_given_to_one_user_by_name(user: str, words: str) -> None:
    result = CliRunner().invoke(cli, ["rights", "grant", "worker", "worker-2025", user])
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
