"""The trail of reconciliations: whatever is changed in it, taken out or put in, is told with its line."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.base.files.signing import KeyUnusable, signing_key
from app.base.files.trail import PUBLIC_KEY, RunFound, Trail, TrailBroken
from app.base.files.verdicts import Verdict
from app.edge.cli.batch.audit import command

KEY = Ed25519PrivateKey.generate()
BEGUN = datetime(2026, 1, 6, 3, tzinfo=UTC)
FILES = ("report.json", "report.html")


@pytest.fixture
def trail(tmp_path: Path) -> Trail:
    """Of three runs."""
    found, file = Trail(tmp_path / "runs"), tmp_path / "audit.pem"
    file.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    file.chmod(0o600)
    for number in range(3):
        append(found, number, file)
    return found


def append(trail: Trail, number: int, key: Path) -> None:
    run = RunFound(
        run_id=f"run-{number}",
        application="flagfall",
        started=BEGUN,
        finished=BEGUN + timedelta(minutes=number),
        verdict=Verdict.MATCH,
        residual=0,
        reason=None,
        views={"zone_demand": Verdict.MATCH},
    )
    for name in FILES:
        file = trail.runs / run.run_id / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name} of {number}")
    trail.append(run, FILES, key)


def test_runs_stand_in_their_order_each_behind_the_hash_of_the_one_before(trail: Trail) -> None:
    found = trail.verified()
    assert [entry.run.run_id for entry in found.entries] == ["run-0", "run-1", "run-2"]
    assert [entry.sequence for entry in found.entries] == [1, 2, 3]
    assert [entry.previous for entry in found.entries][1:] == list(found.hashes[:-1])
    assert found.entries[::-1] == trail.newest(10)
    assert trail.newest(2, "flagfall") == trail.newest(2) == found.entries[:0:-1]
    assert trail.newest(2, "another") == []
    assert trail.run("flagfall", "run-1") == found.entries[1]
    assert trail.run("another", "run-1") is None
    assert trail.run("flagfall", "run") is None
    assert not found.gone
    assert trail.verified(trail.runs / PUBLIC_KEY).head == found.hashes[-1]


def test_a_trail_that_has_not_begun_holds_no_run(tmp_path: Path) -> None:
    assert Trail(tmp_path).verified().entries == []


def lines_of(trail: Trail) -> list[bytes]:
    return trail.file.read_bytes().splitlines(keepends=True)


def with_verdict(line: bytes) -> bytes:
    """The line, saying that something else was found."""
    return line.replace(b"MATCH", b"MISMATCH")


def forked(at: list[bytes]) -> list[bytes]:
    """Another second line by the same key, and the third as it was."""
    entry = json.loads(json.loads(at[1])["entry"]) | {"files": {}}
    text = json.dumps(entry)
    signature = base64.b64encode(KEY.sign(text.encode())).decode()
    return [at[0], json.dumps({"entry": text, "signature": signature}).encode() + b"\n", at[2]]


CHANGES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "another verdict": (lambda at: [at[0], with_verdict(at[1]), at[2]], "line 2 .*the line was changed"),
    "a line less": (lambda at: [at[0], at[2]], "line 2 .*number 3"),
    "a line twice": (lambda at: [at[0], at[1], at[1], at[2]], "line 3 .*number 2"),
    "two the other way about": (lambda at: [at[1], at[0], at[2]], "line 1 .*number 2"),
    "no line of a trail": (lambda at: [*at, b"{}\n"], "line 4 is no line of a trail"),
    "a line written behind another": (forked, "line 3 .*not the one that it was written behind"),
    "half a line": (lambda at: [*at[:2], at[2][:50]], "line 3 is no line of a trail"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_was_changed_is_told_with_its_line(trail: Trail, what: str) -> None:
    change, told = CHANGES[what]
    trail.file.write_bytes(b"".join(change(lines_of(trail))))
    with pytest.raises(TrailBroken, match=told):
        trail.verified()


def test_a_trail_that_somebody_wrote_anew_is_not_that_of_the_key_that_was_kept(trail: Trail, tmp_path: Path) -> None:
    kept = tmp_path / "kept.pem"
    kept.write_bytes((trail.runs / PUBLIC_KEY).read_bytes())
    trail.file.unlink()
    append(trail, 0, tmp_path / "another.pem")
    trail.verified()
    with pytest.raises(TrailBroken, match=r"line 1 .*the signature is not that of the key"):
        trail.verified(kept)


def test_a_report_that_was_changed_is_told_and_one_that_is_gone_too(trail: Trail) -> None:
    (trail.runs / "run-0" / "report.html").unlink()
    assert trail.verified().gone == [trail.runs / "run-0" / "report.html"]
    (trail.runs / "run-1" / "report.json").write_text("all is well")
    with pytest.raises(TrailBroken, match=r"run-1/report\.json is not the file that run run-1 wrote"):
        trail.verified()


def test_nothing_is_added_behind_what_makes_no_sense_nor_by_another_key(trail: Trail, tmp_path: Path) -> None:
    """And that is known before a run begins."""
    before, own, another = trail.file.read_bytes(), tmp_path / "audit.pem", tmp_path / "another.pem"
    trail.require_usable(own)
    signing_key(another)
    for key, told in (
        (another, r"was not signed by the key in .*another\.pem"),
        (tmp_path / "gone.pem", "cannot be read"),
    ):
        for use in (trail.require_usable, lambda key: append(trail, 3, key)):
            with pytest.raises(KeyUnusable, match=told):
                use(key)
    assert not (tmp_path / "gone.pem").exists()
    assert trail.file.read_bytes() == before
    trail.file.write_bytes(before[:-20])
    for use in (trail.require_usable, lambda key: append(trail, 3, key)):
        with pytest.raises(TrailBroken, match="line 3 is no line"):
            use(own)
    assert trail.file.read_bytes() == before[:-20]


def test_the_public_key_comes_back_with_the_next_run(trail: Trail, tmp_path: Path) -> None:
    (trail.runs / PUBLIC_KEY).unlink()
    with pytest.raises(KeyUnusable, match=r"trail\.pub\.pem cannot be read"):
        trail.verified()
    append(trail, 3, tmp_path / "audit.pem")
    assert len(trail.verified().entries) == 4


def test_a_report_without_a_line_is_told(trail: Trail) -> None:
    (trail.runs / "run-9").mkdir()
    (trail.runs / "run-9" / "report.json").write_text("{}")
    assert trail.verified().unlisted == ["run-9"]


def test_runs_that_end_at_once_are_all_there(tmp_path: Path) -> None:
    trail = Trail(tmp_path / "runs")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: append(trail, number, tmp_path / "audit.pem"), range(24)))
    assert {entry.run.run_id for entry in trail.verified().entries} == {f"run-{number}" for number in range(24)}


def test_the_key_is_for_its_owner_alone_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "audit.pem"
    made = signing_key(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert signing_key(file).private_bytes_raw() == made.private_bytes_raw()
    assert [path.name for path in file.parent.iterdir()] == ["audit.pem"]


@pytest.mark.parametrize("kind", ["no key", "another kind"])
def test_a_file_that_is_no_key_of_the_kind_is_refused_in_words(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "audit.pem"
    other = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(b"no key" if kind == "no key" else other)
    with pytest.raises(KeyUnusable, match=str(file)):
        signing_key(file)


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o600, 0o640])
def test_a_key_that_its_owner_and_its_group_alone_may_read_is_taken(mode: int, tmp_path: Path) -> None:
    made = signing_key(tmp_path / "audit.pem")
    (tmp_path / "audit.pem").chmod(mode)
    assert signing_key(tmp_path / "audit.pem").private_bytes_raw() == made.private_bytes_raw()


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o602])
def test_a_key_that_others_may_read_or_another_than_its_owner_may_write_is_refused(mode: int, tmp_path: Path) -> None:
    file = tmp_path / "audit.pem"
    signing_key(file)
    file.chmod(mode)
    with pytest.raises(KeyUnusable, match=rf"{file} .* \(mode {mode:o}\): chmod 600 {file}$"):
        signing_key(file)


def test_a_file_without_a_public_key_is_refused_in_words_of_ours(trail: Trail, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no key")
    with pytest.raises(KeyUnusable, match="holds no public key"):
        trail.verified(file)


def test_the_command_tells_the_last_hash_and_by_it_whether_lines_were_cut_off(trail: Trail) -> None:
    verify = ["verify", "--output", str(trail.runs)]
    told = json.loads(asked([*verify, "--json"]))
    assert told == {"runs": 3, "head": trail.verified().head, "gone": [], "unlisted": [], "cut_off": False}
    trail.file.write_bytes(b"".join(lines_of(trail)[:2]))
    assert "2 runs, each as it was written" in asked(verify)
    assert f"CUT OFF: no line has the hash {told['head']}" in asked([*verify, "--head", told["head"]], code=1)
    assert "2 runs" in asked([*verify, "--head", trail.verified().head[:12]])
    for nothing in ("", "3", "zzzzzzzz"):
        refused = CliRunner().invoke(command, [*verify, "--head", nothing])
        assert (refused.exit_code, "is not 8 to 64 digits of a hash" in refused.output) == (2, True)
    listed = asked(["list", "--output", str(trail.runs), "--last", "1"])
    assert listed.splitlines()[1].split() == ["run-1", "flagfall", "MATCH", "0", "1", "all"]


@pytest.mark.parametrize("asked", ["verify", "list"])
def test_where_there_is_no_trail_nothing_is_listed_or_verified(asked: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [asked, "--output", str(tmp_path / "nowhere")])
    assert (result.exit_code, "there is no trail in" in result.output) == (1, True)


def asked(arguments: list[str], code: int = 0) -> str:
    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert (result.exception, result.return_value or 0) == (None, code)
    return result.output
