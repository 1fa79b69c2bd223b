"""Cursors as clients hold them: texts that a worker knows again, and nobody else can have made."""

from __future__ import annotations

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

from aiohttp import web
from pydantic import SecretStr

from app.edge.http.problems import Problem

MARK_BYTES = 16


class Seal:
    """Texts marked by HMAC-SHA-256 with the secret that workers show each other. Where they have none, anybody can
    make the mark: it tells what was cut or mistyped, and no more."""

    def __init__(self, secret: SecretStr) -> None:
        self._secret = secret.get_secret_value().encode()

    def sealed(self, told: bytes) -> str:
        """The mark and what is told, in letters that need no escape in an address."""
        return urlsafe_b64encode(self._mark(told) + told).decode().rstrip("=")

    def opened(self, text: str) -> bytes:
        """What was told; a problem if the mark is not of it."""
        try:
            held = urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
        except (binascii.Error, ValueError):
            held = b""
        mark, told = held[:MARK_BYTES], held[MARK_BYTES:]
        if not hmac.compare_digest(mark, self._mark(told)):
            why = "No worker with this one's token gave this cursor; take meta.next_cursor of the page before."
            raise Problem("bad-cursor", why)
        return told

    def _mark(self, told: bytes) -> bytes:
        return hmac.digest(self._secret, told, "sha256")[:MARK_BYTES]


SEAL = web.AppKey("seal", Seal)
