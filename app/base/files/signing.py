"""A key of this machine's own to sign with: Ed25519, made when it is first needed."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from app.base.files.bounded import FileTooLong, read_bounded
from app.domain.errors import FlagfallError

NEVER = stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO
"""What the mode of a private key may not have. Its group may read it: Kubernetes gives a secret's files to root, and
lets whoever runs the program read them as one of their group alone."""


class KeyUnusable(FlagfallError):
    """The file is no Ed25519 key, or cannot be read. Put back the one that was there, or name another."""


def signing_key(file: Path, *, may_make: bool = True) -> Ed25519PrivateKey:
    """The key in the file, which is made, for its owner alone to read, if there is none and it may be.

    Raises KeyUnusable, for one too that others than its owner and its group may read, or others than its owner write.
    """
    if may_make and not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        made = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        _write_new(file, made)
    try:
        key = load_pem_private_key(read_bounded(file).encode(), password=None)
        mode = stat.S_IMODE(file.stat().st_mode)
    except (OSError, ValueError, TypeError, FileTooLong, UnsupportedAlgorithm) as error:
        raise KeyUnusable(f"{file} cannot be read as a private key without a password: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnusable(f"{file} holds another kind of key than Ed25519")
    if mode & NEVER:
        raise KeyUnusable(
            f"{file} is open to others: its owner alone may write it, and but for the owner only its group "
            f"may read it (mode {mode:o}): chmod 600 {file}"
        )
    return key


def public_pem(key: Ed25519PrivateKey) -> bytes:
    """What others check its signatures by."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def public_key(file: Path) -> Ed25519PublicKey:
    """Raises KeyUnusable."""
    try:
        key = load_pem_public_key(read_bounded(file).encode())
    except (OSError, FileTooLong) as error:
        raise KeyUnusable(f"{file} cannot be read: {error}") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise KeyUnusable(f"{file} holds no public key as trail.pub.pem does (-----BEGIN PUBLIC KEY-----)") from error
    if not isinstance(key, Ed25519PublicKey):
        raise KeyUnusable(f"{file} holds another kind of key than Ed25519")
    return key


def has_signed(key: Ed25519PublicKey, signature: bytes, content: bytes) -> bool:
    """Whether the signature is the key's, of this content."""
    try:
        key.verify(signature, content)
    except InvalidSignature:
        return False
    return True


def _write_new(file: Path, content: bytes) -> None:
    """Under its name once it is whole, by a link: of two that make it at once one is first, and both read that one."""
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".") as temporary:  # for its owner alone
        temporary.write(content)
        temporary.flush()
        os.fsync(temporary.fileno())
        with contextlib.suppress(FileExistsError):
            Path(file).hardlink_to(temporary.name)
