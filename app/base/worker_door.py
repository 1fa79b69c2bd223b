"""A worker as those know it who ask it: where it is, by which key, and whose certificates count there."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from app.base.asking import Answer, QueryParameters, get, post
from app.base.errors import CertificateUnusable
from app.base.setting_groups import variable
from app.base.settings import Settings

NO_TOKEN = SecretStr("")


@dataclass(frozen=True, slots=True)
class WorkerDoor:
    """`url` is without a slash at its end. `token` opens it, empty where none is asked for; `ca_file`: the authorities
    of its certificate, None for those that the system trusts."""

    url: str
    token: SecretStr = NO_TOKEN
    ca_file: Path | None = None

    def get(self, path: str, parameters: QueryParameters = (), *, timeout_seconds: float, **options: Any) -> Answer:
        """As `app.base.asking.get`. Raises Unanswered."""
        return get(f"{self.url}{path}", parameters, timeout_seconds=timeout_seconds, **self._shown(), **options)

    def post(self, path: str, document: dict[str, Any], *, timeout_seconds: float) -> Answer:
        """As `app.base.asking.post`. Raises Unanswered."""
        return post(f"{self.url}{path}", document, timeout_seconds=timeout_seconds, **self._shown())

    def _shown(self) -> dict[str, Any]:
        trusted = trusted_by(self.ca_file) if self.url.startswith("https:") else None
        return {"token": self.token.get_secret_value(), "trusted": trusted}


@cache
def trusted_by(ca_file: Path | None) -> ssl.SSLContext:
    """By whom workers are certified: these authorities, or those the system trusts. CertificateUnusable."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # ssl's own errors are some
        raise CertificateUnusable(
            f"{variable('access_ca_file')}={ca_file} holds no certificates of authorities ({error})"
        ) from error


def door_of(settings: Settings, worker_url: str | None = None) -> WorkerDoor:
    """Of the worker that is named, or of the local one."""
    access = settings.access
    return WorkerDoor((worker_url or settings.worker.local_url).rstrip("/"), access.token, access.ca_file)
