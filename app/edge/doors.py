"""How a worker's address is kept: its certificate, and that it answers strangers only where that was decided."""

from __future__ import annotations

import ssl
from ipaddress import ip_address

from app.base.errors import CertificateUnusable
from app.base.setting_groups import WorkerSettings, variable
from app.base.settings import Settings
from app.domain.errors import FlagfallError


class OpenToStrangers(FlagfallError):
    """The worker would answer whoever reaches it, or in the clear. The message says what to set."""


def require_guarded(settings: Settings) -> None:
    """OpenToStrangers where a worker listens beyond loopback without keys or TLS, and nobody said that it may."""
    worker, access = settings.worker, settings.access
    if _is_loopback(worker.http_host) or access.open_to_all:
        return
    missing = [
        *([variable("access_keys_file")] if access.keys_file is None else []),
        *([variable("worker_http_tls_cert_file")] if worker.http_tls_cert_file is None else []),
    ]
    if missing:
        raise OpenToStrangers(
            f"{variable('worker_http_host')}={worker.http_host} lets other machines ask this worker: set "
            f"{' and '.join(missing)} (docs/access.md), or {variable('access_open_to_all')}=true where the network, "
            "or a proxy, keeps strangers out"
        )


def tls_context(worker: WorkerSettings) -> ssl.SSLContext | None:
    """What the worker speaks TLS with; None if it does not. CertificateUnusable."""
    if worker.http_tls_cert_file is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # with no password OpenSSL would ask at the terminal: an empty one fails instead
        context.load_cert_chain(worker.http_tls_cert_file, worker.http_tls_key_file, password=lambda: "")
    except OSError as error:  # ssl's own errors are some
        files = f"{worker.http_tls_cert_file} and {worker.http_tls_key_file}"
        names = f"{variable('worker_http_tls_cert_file')} and {variable('worker_http_tls_key_file')}"
        raise CertificateUnusable(f"{files} are no certificate and its key ({error}): correct {names}") from error
    return context


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
