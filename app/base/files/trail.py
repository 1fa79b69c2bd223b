"""`trail.jsonl` beside the runs of `flagfall reconcile`: what each of them found, one signed line a run.

A line holds an entry, and the signature of its bytes. An entry holds the hash of the line before it and those of the
run's files, so that none can be changed, taken out or put in between without a break. What is cut off at the end
leaves no break: keep the last line's hash elsewhere, and compare.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import AwareDatetime, Base64Bytes, BaseModel, ConfigDict, ValidationError

from app.base.files.signing import KeyUnusable, has_signed, public_key, public_pem, signing_key
from app.base.files.verdicts import Verdict
from app.base.files.whole_file import write_whole
from app.domain.errors import FlagfallError
from app.domain.windows.scope import Scope

TRAIL, PUBLIC_KEY = "trail.jsonl", "trail.pub.pem"
NOTHING = "0" * 64
"""In place of the hash of a line before the first."""


class TrailBroken(FlagfallError):
    """The trail does not hold together at a line, which the message names. Nothing is added to it."""


class _OfTrail(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RunFound(_OfTrail):
    """What a run found. `views`: by name of views, joins and alerts that were compared, their verdicts.

    `residual`: what no listed record explains of them, None where there is no verdict on the figures. `scope`: which
    windows were compared, None for all.
    """

    run_id: str
    application: str
    started: AwareDatetime
    finished: AwareDatetime
    verdict: Verdict
    residual: int | None
    reason: str | None
    views: dict[str, Verdict]
    scope: Scope | None = None


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
    """What a trail that holds together says. `hashes`: of its lines. `gone`: files of runs that are not there;
    `unlisted`: runs that left a report and no line."""

    entries: Sequence[TrailEntry]
    hashes: Sequence[str]
    gone: Sequence[Path]
    unlisted: Sequence[str]

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

    def require_usable(self, key_file: Path) -> None:
        """Raises what `append` would, before a run that may take hours."""
        with self._locked():
            self._key(key_file, self._lines())

    def append(self, run: RunFound, files: Sequence[str], key_file: Path) -> str:
        """Add a run whose files are written, signed by that key, and give the line's hash.

        Two runs at once wait for one another. Raises TrailBroken where the last line makes no sense, and KeyUnusable.
        """
        with self._locked():
            lines = self._lines()
            key = self._key(key_file, lines)
            last = _entry(lines[-1], len(lines), self.file) if lines else None
            entry = TrailEntry(
                sequence=1 if last is None else last.sequence + 1,
                previous=_hash(lines[-1]) if lines else NOTHING,
                run=run,
                files={name: _hash((self.runs / run.run_id / name).read_bytes()) for name in files},
            )
            text = entry.model_dump_json()
            signed = SignedLine.model_construct(entry=text, signature=key.sign(text.encode()))
            line = signed.model_dump_json().encode()
            write_whole(self.runs / PUBLIC_KEY, public_pem(key))
            write_whole(self.file, b"".join(one + b"\n" for one in (*lines, line)))
        return _hash(line)

    def newest(self, limit: int, application: str | None = None) -> list[TrailEntry]:
        """So many of the last runs, as `backwards` has them."""
        return list(islice(self.backwards(application), limit))

    def backwards(self, application: str | None = None) -> Iterator[TrailEntry]:
        """The runs, of one application or of all, newest first, each read when it is asked for, and not checked.

        Raises TrailBroken for what is no line of a trail.
        """
        lines = self._lines()
        entries = (_entry(lines[at], at + 1, self.file) for at in reversed(range(len(lines))))
        return (one for one in entries if application in (None, one.run.application))

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
        return VerifiedTrail(entries, hashes, gone, self._unlisted(entries))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.runs.mkdir(parents=True, exist_ok=True)
        with (self.runs / ".trail.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _key(self, key_file: Path, lines: Sequence[bytes]) -> Ed25519PrivateKey:
        """The key to sign with, which is made before the first line alone. Raises KeyUnusable, TrailBroken."""
        key = signing_key(key_file, may_make=not lines)
        if lines:
            _entry(lines[-1], len(lines), self.file)
            last = SignedLine.model_validate_json(lines[-1])
            if not has_signed(key.public_key(), last.signature, last.entry.encode()):
                raise KeyUnusable(
                    f"{self.file} was not signed by the key in {key_file}: put back the one that it was signed by "
                    "(FLAGFALL_AUDIT_KEY), or move the trail away, and the next run begins another"
                )
        return key

    def content(self, entry: TrailEntry, name: str) -> bytes | None:
        """A file of a run, as the run wrote it; None if it is not there any more. Raises TrailBroken for another."""
        path = self.runs / entry.run.run_id / name
        content = path.read_bytes() if path.is_file() else None
        if content is not None and _hash(content) != entry.files.get(name):
            raise _changed(path, entry)
        return content

    def is_as_written(self, entry: TrailEntry, name: str) -> bool:
        """Whether a file of a run, which is there, is the one that the run wrote."""
        with (self.runs / entry.run.run_id / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == entry.files.get(name)

    def _unlisted(self, entries: Sequence[TrailEntry]) -> list[str]:
        listed = {entry.run.run_id for entry in entries}
        return sorted(path.parent.name for path in self.runs.glob("*/report.json") if path.parent.name not in listed)

    def _gone(self, entry: TrailEntry) -> list[Path]:
        """Files of a run that are not there any more. Raises TrailBroken for one that is another."""
        gone = []
        for name in entry.files:
            path = self.runs / entry.run.run_id / name
            if not path.is_file():
                gone.append(path)
            elif not self.is_as_written(entry, name):
                raise _changed(path, entry)
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
        said = error.errors(include_url=False)[0]["msg"]
        raise TrailBroken(
            f"{file}, line {at} is no line of a trail ({said}); the runs' reports are beside it"
        ) from error


def _changed(path: Path, entry: TrailEntry) -> TrailBroken:
    return TrailBroken(f"{path} is not the file that run {entry.run.run_id} wrote: its hash is another")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
