"""The file of keys: what it holds opens nothing, what was printed does, until it ends or is taken away."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.base.files.held_alone import held_alone
from app.base.files.keys import KeysUnusable, key_of, new_key, read_keys, write_keys
from app.base.scopes import KeyScope
from app.edge.cli.machine.keys import command

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_a_token_opens_its_key_until_it_ends() -> None:
    key, token = new_key("nightly", [KeyScope.EXPORT], NOON)
    keys = {key.name: key}
    assert key_of(keys, token, NOON - timedelta(seconds=1)) == key
    assert key_of(keys, token, NOON) is None


@pytest.mark.parametrize(
    "told", ["", "nightly", "nightly.", ".", "other.{secret}", "{secret}", "nightly.{secret}x", "\udc80.ä"]
)
def test_nothing_else_does(told: str) -> None:
    key, token = new_key("nightly", [KeyScope.READ])
    secret = token.partition(".")[2]
    assert key_of({key.name: key}, told.format(secret=secret), NOON) is None


def test_the_file_holds_no_token_and_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    (first, token), (second, _) = (
        new_key("nightly", [KeyScope.READ, KeyScope.EXPORT], NOON),
        new_key("workers", [KeyScope.WORKERS]),
    )
    write_keys(file, {first.name: first, second.name: second})
    assert token.partition(".")[2] not in file.read_text()
    assert read_keys(file) == {"nightly": first, "workers": second}


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (None, "is not there: `flagfall keys add NAME` makes it"),
        ("{", "is no file of keys"),
        ('{"keys": [{"name": "A", "sha256": "00", "scopes": []}]}', "keys.0.name"),
        ('{"keys": [], "more": 1}', "more"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(tmp_path: Path, held: str | None, said: str) -> None:
    file = tmp_path / "keys.json"
    if held is not None:
        file.write_text(held)
    with pytest.raises(KeysUnusable, match=said) as told:
        read_keys(file)
    assert str(file) in str(told.value)


def test_two_keys_of_one_name_are_refused(tmp_path: Path) -> None:
    key = new_key("nightly", [KeyScope.READ])[0].model_dump(mode="json")
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [key, key]}))
    with pytest.raises(KeysUnusable, match="two keys of one name"):
        read_keys(tmp_path / "keys.json")


def test_keys_are_added_listed_and_removed(tmp_path: Path) -> None:
    named = ("--file", str(tmp_path / "keys.json"))
    added = run("add", "nightly", "--scope", "read", "--scope", "export", "--until", "2999-01-01T00:00Z", *named)
    key = key_of(read_keys(tmp_path / "keys.json"), added.stdout.strip(), NOON)
    assert (key and key.name, "shown this once" in added.stderr) == ("nightly", True)
    assert run("add", "dashboards", *named).exit_code == 0
    told = json.loads(run("list", "--json", *named).stdout)
    assert [(one["name"], one["scopes"]) for one in told] == [("nightly", ["export", "read"]), ("dashboards", ["read"])]
    assert run("list", *named).stdout.splitlines()[2].split() == ["dashboards", "read", "it", "is", "removed"]
    assert run("remove", "nightly", *named).exit_code == 0
    assert list(read_keys(tmp_path / "keys.json")) == ["dashboards"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("add", "dashboards"), "there is a key dashboards"),
        (("add", "Dash boards"), "is no name of a key"),
        (("remove", "dashboard"), "there is no key dashboard; did you mean 'dashboards'?"),
        (("add", "nightly", "--until", "2020-01-01T00:00Z"), "2020-01-01T00:00:00+00:00 is over"),
        (("add", "nightly", "--scope", "repair"), "'repair' is not one of 'read', 'export', 'write', 'workers'"),
    ],
)
def test_mistakes_are_told_and_change_nothing(tmp_path: Path, asked: tuple[str, ...], said: str) -> None:
    file = tmp_path / "keys.json"
    run("add", "dashboards", "--file", str(file))
    before = file.read_bytes()
    refused = run(*asked, "--file", str(file))
    assert (refused.exit_code > 0, said in refused.output) == (True, True), refused.output
    assert file.read_bytes() == before


def test_two_commands_do_not_write_at_once(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    with held_alone(tmp_path / "keys.json.lock"):
        refused = run("add", "dashboards", "--file", str(file))
    assert isinstance(refused.exception, KeysUnusable)
    assert "is being changed by another command" in str(refused.exception)


def test_a_new_file_is_for_its_owner_alone_and_who_was_let_read_it_still_may(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    named = ("--file", str(file))
    run("add", "dashboards", *named)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o640)
    run("add", "nightly", *named)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone gives files away")
def test_a_file_stays_its_owners_whoever_changes_it(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    run("add", "dashboards", "--file", str(file))
    os.chown(file, 12_345, 12_346)
    run("add", "nightly", "--file", str(file))
    assert (file.stat().st_uid, file.stat().st_gid) == (12_345, 12_346)


def test_a_file_must_be_named() -> None:
    assert "FLAGFALL_ACCESS_KEYS_FILE" in run("list").output
