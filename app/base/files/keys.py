"""The keys that workers take: a file of names, scopes and what their tokens hash to; no token can be read from it.

A token is `name.secret`. The secret has 256 random bits, so nobody finds it by trying, however quick its hash is:
SHA-256, once, which costs a request nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from app.base.files.bounded import FileTooLong, read_bounded
from app.base.files.held_alone import HeldElsewhere, held_alone
from app.base.files.whole_file import write_whole
from app.base.scopes import KeyScope
from app.domain.errors import FlagfallError

SECRET_BYTES = 32
NAME_PATTERN = r"^[a-z][a-z0-9_-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]


class KeysUnusable(FlagfallError):
    """The file of keys cannot be read or written; the message names it and says what is wrong."""


class NoKeysFile(KeysUnusable):
    """It is not there."""


class Key(BaseModel):
    """A key as the file has it. After `until` it opens nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    scopes: frozenset[KeyScope] = Field(min_length=1)
    until: AwareDatetime | None = None

    def opens_by(self, secret: str) -> bool:
        """Whether it is the secret; takes as long for each that is not."""
        return hmac.compare_digest(self.sha256, _hash(secret))

    def has_ended(self, now: datetime | None = None) -> bool:
        """By that instant, or by now."""
        return self.until is not None and (now or datetime.now(UTC)) >= self.until


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid")

    keys: list[Key]


def read_keys(file: Path) -> dict[str, Key]:
    """By their names. NoKeysFile where there is none, KeysUnusable where it is none of keys."""
    try:
        held = _Keys.model_validate_json(read_bounded(file)).keys
    except FileNotFoundError:
        raise NoKeysFile(f"{file} is not there: `flagfall keys add NAME` makes it") from None
    except (OSError, UnicodeDecodeError, FileTooLong) as error:
        raise KeysUnusable(f"{file} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise KeysUnusable(f"{file} is no file of keys: {where}: {first['msg']}") from None
    by_name = {key.name: key for key in held}
    if len(by_name) != len(held):
        raise KeysUnusable(f"{file} has two keys of one name")
    return by_name


def write_keys(file: Path, keys: Mapping[str, Key]) -> None:
    """In the place of those that it holds, all at once. KeysUnusable if it cannot be written."""
    try:
        write_whole(file, _Keys(keys=list(keys.values())).model_dump_json(indent=2).encode() + b"\n", is_private=True)
    except OSError as error:
        raise KeysUnusable(f"{file} cannot be written: {error}") from error


@contextmanager
def changing(file: Path, *, may_make: bool = True) -> Iterator[dict[str, Key]]:
    """The keys, which are written again when they were changed and nothing was raised. KeysUnusable."""
    try:
        with held_alone(file.with_name(f"{file.name}.lock")):
            keys = {} if may_make and not file.exists() else read_keys(file)
            yield keys
            write_keys(file, keys)
    except HeldElsewhere:
        raise KeysUnusable(f"{file} is being changed by another command: try again") from None


def is_name(text: str) -> bool:
    """Whether a key may be called so."""
    return re.fullmatch(NAME_PATTERN, text) is not None


def new_key(name: str, scopes: Iterable[KeyScope], until: datetime | None = None) -> tuple[Key, str]:
    """A key and its token, which is nowhere else."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    return Key(name=name, sha256=_hash(secret), scopes=frozenset(scopes), until=until), f"{name}.{secret}"


def key_of(keys: Mapping[str, Key], token: str, now: datetime | None = None) -> Key | None:
    """The key that a token opens; None if it opens none, or none any more."""
    name, _, secret = token.partition(".")
    key = keys.get(name)
    opened = key is not None and key.opens_by(secret) and not key.has_ended(now)
    return key if opened else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
