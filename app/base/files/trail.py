"""`trail.jsonl` beside the runs of `flagfall reconcile`: what each of them found, one signed line a run.

A line holds an entry, and the signature of its bytes. An entry holds the hash of the line before it and those of the
run's files, so that none can be changed, taken out or put in between without a break. What is cut off at the end
leaves no break: keep the last line's hash elsewhere, and compare.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import AwareDatetime, Base64Bytes, BaseModel, ConfigDict, ValidationError

from app.base.files.signing import KeyUnusable, has_signed, public_key, public_pem, signing_key
from app.base.files.verdicts import Verdict
from app.base.files.whole_file import write_whole
from app.domain.errors import FlagfallError

TRAIL, PUBLIC_KEY = "trail.jsonl", "trail.pub.pem"
NOTHING = "0" * 64
"""In place of the hash of a line before the first."""


class TrailBroken(FlagfallError):
    """The trail does not hold together at a line, which the message names. Nothing is added to it."""


class _OfTrail(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RunFound(_OfTrail):
    """What a run found. `views`: by name of views, joins and alerts that were compared, their verdicts."""

    run_id: str
    application: str
    started: AwareDatetime
    finished: AwareDatetime
    verdict: Verdict
    residual: int
    reason: str | None
    views: dict[str, Verdict]


class TrailEntry(_OfTrail):
    """`sequence` counts from 1; `previous` is the hash of the line before; `files`: hashes by name in the run's
    folder. All hashes are SHA-256, in hex."""

    layout: Literal[1] = 1
    sequence: int
    previous: str
    run: RunFound
    files: dict[str, str]


class SignedLine(_OfTrail):
    """A line of the file: the entry as the very text that was signed."""

    entry: str
    signature: Base64Bytes


@dataclass(frozen=True)
class VerifiedTrail:
    """What a trail that holds together says. `hashes`: of its lines. `gone`: files of runs that are not there."""

    entries: Sequence[TrailEntry]
    hashes: Sequence[str]
    gone: Sequence[Path]

    @property
    def head(self) -> str:
        """The last line's hash: whoever keeps it sees later whether lines were cut off."""
        return self.hashes[-1] if self.hashes else NOTHING


@dataclass(frozen=True)
class Trail:
    """That of the runs in a folder."""

    runs: Path

    @property
    def file(self) -> Path:
        return self.runs / TRAIL

    def append(self, run: RunFound, files: Sequence[str], key_file: Path) -> TrailEntry:
        """Add a run whose files are written, signed by that key; two runs at once wait for one another.

        Raises TrailBroken where the last line makes no sense, and KeyUnusable.
        """
        self.runs.mkdir(parents=True, exist_ok=True)
        with (self.runs / ".trail.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lines = self._lines()
            last = _entry(lines[-1], len(lines), self.file) if lines else None
            entry = TrailEntry(
                sequence=1 if last is None else last.sequence + 1,
                previous=_hash(lines[-1]) if lines else NOTHING,
                run=run,
                files={name: _hash((self.runs / run.run_id / name).read_bytes()) for name in files},
            )
            key, text = signing_key(key_file), entry.model_dump_json()
            self._require_one_key(public_pem(key), key_file)
            line = SignedLine.model_construct(entry=text, signature=key.sign(text.encode()))
            write_whole(self.file, b"".join(one + b"\n" for one in (*lines, line.model_dump_json().encode())))
        return entry

    def newest(self, limit: int, application: str | None = None) -> list[TrailEntry]:
        """The last runs, of one application or of all, newest first, without being checked.

        Raises TrailBroken for what is no line of a trail.
        """
        lines = self._lines()
        entries = (_entry(lines[at], at + 1, self.file) for at in reversed(range(len(lines))))
        return list(islice((one for one in entries if application in (None, one.run.application)), limit))

    def run(self, application: str, run_id: str) -> TrailEntry | None:
        """What the application's run of that name found, if there is one. Raises TrailBroken."""
        lines = self._lines()
        likely = (_entry(line, at, self.file) for at, line in enumerate(lines, 1) if run_id.encode() in line)
        return next((one for one in likely if (one.run.application, one.run.run_id) == (application, run_id)), None)

    def verified(self, key_file: Path | None = None) -> VerifiedTrail:
        """All lines, chained, signed by that public key (or the one beside them), and the files as they were.

        Raises TrailBroken with the first that is not so, and KeyUnusable.
        """
        lines = self._lines()
        key = public_key(key_file or self.runs / PUBLIC_KEY) if lines else None
        entries, hashes, gone = list[TrailEntry](), list[str](), list[Path]()
        for at, line in enumerate(lines, 1):
            assert key is not None
            entry = _entry(line, at, self.file)
            if problem := _problem(entry, line, at, hashes, key):
                raise TrailBroken(f"{self.file}, line {at} (run {entry.run.run_id}): {problem}")
            gone += self._gone(entry)
            entries.append(entry)
            hashes.append(_hash(line))
        return VerifiedTrail(entries, hashes, gone)

    def _require_one_key(self, public: bytes, key_file: Path) -> None:
        """The public key beside the trail, which is written with the first line. Raises KeyUnusable."""
        beside = self.runs / PUBLIC_KEY
        if not self._lines():
            write_whole(beside, public)
        elif not beside.is_file() or beside.read_bytes() != public:
            raise KeyUnusable(
                f"{self.file} was not signed by the key in {key_file}: put back the one that it was signed by "
                f"(FLAGFALL_AUDIT_KEY), or move the trail and {PUBLIC_KEY} away to begin another"
            )

    def _gone(self, entry: TrailEntry) -> list[Path]:
        """Files of a run that are not there any more. Raises TrailBroken for one that is another."""
        gone = []
        for name, told in entry.files.items():
            path = self.runs / entry.run.run_id / name
            if not path.is_file():
                gone.append(path)
            elif _hash(path.read_bytes()) != told:
                raise TrailBroken(f"{path} is not the file that run {entry.run.run_id} wrote: its hash is another")
        return gone

    def _lines(self) -> list[bytes]:
        try:
            return self.file.read_bytes().splitlines()
        except FileNotFoundError:
            return []


def _problem(entry: TrailEntry, line: bytes, at: int, hashes: Sequence[str], key: Ed25519PublicKey) -> str | None:
    signed = SignedLine.model_validate_json(line)
    if not has_signed(key, signed.signature, signed.entry.encode()):
        return "the signature is not that of the key, or the line was changed"
    if entry.sequence != at:
        return f"it is number {entry.sequence}: lines were taken out, or put in"
    return (
        None
        if entry.previous == (hashes[-1] if hashes else NOTHING)
        else "the line before it is not the one that it was written behind"
    )


def _entry(line: bytes, at: int, file: Path) -> TrailEntry:
    try:
        return TrailEntry.model_validate_json(SignedLine.model_validate_json(line).entry)
    except ValidationError as error:
        raise TrailBroken(
            f"{file}, line {at} is no line of a trail; the runs' reports are beside it: {error}"
        ) from error


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
