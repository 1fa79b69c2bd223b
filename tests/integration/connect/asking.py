"""What `flagfall connect` prints, and Connect's REST API."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
from click.testing import CliRunner

from app.base.services import connect
from app.base.settings import Settings
from app.domain.errors import FlagfallError
from app.edge.cli.tables.connect import command
from tests.support.machine.waiting import patient


def asked(*arguments: str, code: int = 0, refused: str | None = None) -> str:
    """What the command prints, whose exit code this must be; or is refused with."""
    ran = CliRunner().invoke(command, arguments, standalone_mode=False)
    if refused is not None:
        assert isinstance(ran.exception, FlagfallError)
        assert refused in str(ran.exception)
        return ran.stdout
    assert (ran.exception, ran.return_value or 0) == (None, code), ran.output
    return ran.stdout


def begin(settings: Settings, configuration: Mapping[str, str]) -> None:
    """Give a connector to Connect, or another configuration to one that it has."""
    url = f"{connect.address(settings)}/connectors/{configuration['name']}/config"
    answer = httpx.put(url, json=dict(configuration), timeout=patient(30))
    assert answer.is_success, answer.text
