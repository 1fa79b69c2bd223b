"""Which host a request names: pages of others, whose names lead to loopback, name another than the worker's."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from app.base.setting_groups import variable
from app.edge.http.problems import Problem


@lru_cache(maxsize=64)
def is_own(host: str, own_url: str) -> bool:
    """Whether what a Host header says, whatever the port, is loopback or where others are told to find the worker."""
    named = _name(f"//{host}")
    with suppress(ValueError):
        return ip_address(named or "").is_loopback or named == _name(own_url)
    return named is not None and named in ("localhost", _name(own_url))


def other_host(host: str) -> Problem:
    """The problem of a request for one that is not the worker's."""
    own = f"of {variable('worker_advertised_url')} and loopback's names"
    behind = f"{variable('access_open_to_all')}=true lets it take any, where strangers are kept out otherwise"
    return Problem("other-host", f"A worker without keys takes no requests for {host!r}, but the host {own}; {behind}.")


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
