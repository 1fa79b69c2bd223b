"""The command line: quick, lazy, and clear about what went wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from aiokafka.errors import TopicAuthorizationFailedError, TransactionalIdAuthorizationFailed
from click.testing import CliRunner
from confluent_kafka import KafkaError, KafkaException

from app.base.errors import DeliveryFailed
from app.domain.errors import DefinitionError
from app.edge.cli import main
from app.edge.cli.main import COMMANDS, cli, run
from tests.support.machine.waiting import patient

HEAVY = ("polars", "pyspark", "aiohttp", "faust", "confluent_kafka", "numpy", "pydantic")


def test_help_imports_no_engine() -> None:
    program = (
        "import sys; from app.edge.cli.main import run; code = run(['--help']); "
        f"sys.exit(code or ','.join(m for m in {HEAVY!r} if m in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert "flagfall" in result.output.partition("\n")[2]


def test_an_error_that_flagfall_raises_is_one_message_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _install(monkeypatch, DefinitionError("view 'x' is not usable", ["it has no groups"]))
    assert run(["views"]) == 1
    assert "view 'x' is not usable" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["demo"], ["services", "status"], ["worker"], ["replay", "rides.csv"]])
def test_a_directory_that_cannot_be_is_named_with_what_to_do(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "rides.csv").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gc.disable", lambda: None)
    monkeypatch.setenv("FLAGFALL_DATA_DIR", str(tmp_path / "file" / "data"))
    assert run([*command, "--data-dir", "file/data"] if command == ["demo"] else command) == 1
    told = capsys.readouterr().err
    assert "file/data" in told
    assert "FLAGFALL_DATA_DIR" in told


def _caused() -> DeliveryFailed:
    error = DeliveryFailed("one record could not be sent.")
    error.__cause__ = KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED))
    return error


@pytest.mark.parametrize(
    "error",
    [TopicAuthorizationFailedError("rides"), TransactionalIdAuthorizationFailed("one"), _caused()],
    ids=lambda error: type(error).__name__,
)
def test_a_refusal_by_kafka_says_where_to_ask(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _install(monkeypatch, error)
    assert run(["views"]) == 1
    told = capsys.readouterr().err
    assert str(error).rstrip(".") in told
    assert told.count("`flagfall rights check`") == 1


def test_an_error_that_nobody_expected_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, ZeroDivisionError("a mistake"))
    with pytest.raises(ZeroDivisionError):
        run(["views"])


def test_an_interrupt_is_exit_130(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, KeyboardInterrupt())
    assert run(["views"]) == 130


@pytest.mark.parametrize("to", ["9999-12-31T23:59:59.999999+00:00", "0001-01-01T00:00+12:00", "2099-12-31T23:00+00:00"])
def test_an_advance_that_the_workers_would_refuse_is_not_asked_for(to: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["advance", "--to", to]) == 1
    assert "are of 2000-01-01 00:00 to 2099-12-31 23:59 UTC; choose an instant" in capsys.readouterr().err


@pytest.mark.parametrize("speed", ["fast", "nan", "infx", "0", "-1x"])
def test_wrong_usage_is_exit_2(speed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", "--speed", speed]) == 2
    assert "60x" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["topics", "check"], ["rebuild"], ["zones", "publish"], ["late", "show"]])
@pytest.mark.parametrize("address", ["foo", "foo:99999", "one:1,two"])
def test_a_broker_without_a_port_is_refused_by_the_name_of_its_option_or_setting(
    command: list[str], address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--bootstrap-server", address]) == 2
    by_option = capsys.readouterr().err
    monkeypatch.setenv("FLAGFALL_KAFKA_BOOTSTRAP_SERVER", address)
    assert run(command) == 1
    by_setting = capsys.readouterr().err
    for told, named in ((by_option, "--bootstrap-server"), (by_setting, "FLAGFALL_KAFKA_BOOTSTRAP_SERVER")):
        assert (named in told, "is not HOST:PORT" in told) == (True, True), told


@pytest.mark.parametrize("command", [["generate", "--start"], ["advance", "--to"], ["late", "show", "--from"]])
@pytest.mark.parametrize(
    ("instant", "words"), [("noon", "'noon' is no instant; give one"), ("2026-01-05T08:00", "has no time zone")]
)
def test_what_is_no_instant_is_refused_alike_by_every_command(
    command: list[str], instant: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, instant]) == 2
    told = capsys.readouterr().err
    assert (words in told, command[-1] in told) == (True, True), told


@pytest.mark.parametrize(
    "command", [["views", "check"], ["schemas", "check", "--topic", "rides.yellow"], ["zones", "publish", "--csv"]]
)
def test_a_file_without_end_is_read_no_further_than_one_can_be_long(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "/dev/zero"]) == 1
    assert "/dev/zero has more than 4 MiB" in capsys.readouterr().err


def test_an_argument_that_is_no_text_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", "\udcff\udcfe"]) == 1
    assert "an argument holds bytes that are no text in UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_cannot_be_printed_is_told_once_without_a_traceback(unbuffered: str) -> None:
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "app.edge.cli.main", "views", "list"]
        ran = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=patient(60), check=False, env=environment
        )
    assert (ran.returncode, ran.stderr) == (
        1,
        "error: what there is to say cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FLAGFALL_WORKER_SESSION_TIMEOUT_SECONDS", "inf"),
        ("FLAGFALL_WORKER_STALLED_SECONDS", "1e300"),
        ("FLAGFALL_WORKER_FETCH_MAX_WAIT_MS", "99999999999999"),
        ("FLAGFALL_HTTP_MAX_SECONDS", "nan"),
        ("FLAGFALL_REGISTRY_URL", "http://["),
    ],
)
def test_a_setting_that_no_client_could_hold_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    assert run(["topics", "list"]) == 1
    assert name in capsys.readouterr().err


def test_a_setting_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLAGFALL_TOPICS_PARTITIONS", "many")
    assert run(["topics", "list"]) == 1
    assert "FLAGFALL_TOPICS_PARTITIONS" in capsys.readouterr().err


def test_views_describe_names_the_cells_in_their_stored_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["views", "describe", "zone_demand", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["cells"][:2] == ["count", "fingerprint"]
    assert facts["window"] == {"column": "pickup_at_us", "size_seconds": 300, "offset_seconds": 0}


def test_a_view_that_does_not_exist_is_answered_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["views", "describe", "zones"]) == 2
    assert "zone_demand" in capsys.readouterr().err


def _install(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    @click.command()
    def command() -> None:
        raise error

    monkeypatch.setattr(main.LazyGroup, "get_command", lambda self, ctx, name: command)


def test_what_a_command_tells_is_json_where_logs_are(tmp_path: Path) -> None:
    done = _flagfall(tmp_path, "views", "describe", "none", FLAGFALL_LOG_FORMAT="json", FLAGFALL_APP_ID="mine")
    (line,) = map(json.loads, done.stderr.splitlines())
    assert (done.returncode, line["level"], line["application"]) == (2, "ERROR", "mine")
    assert "none" in line["message"]


def test_a_format_of_the_log_that_there_is_not_stops_every_command(tmp_path: Path) -> None:
    done = _flagfall(tmp_path, "views", FLAGFALL_LOG_FORMAT="yaml")
    assert done.returncode == 1
    assert "FLAGFALL_LOG_FORMAT: Input should be 'text' or 'json' (it is 'yaml')" in done.stderr


def _flagfall(data_dir: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"FLAGFALL_DATA_DIR": str(data_dir)} | variables
    command = [sys.executable, "-m", "app.edge.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=patient(60))
