"""Addresses of this machine, and what a host's spelling means."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from socket import inet_aton

LOOPBACK = "127.0.0.1"
LOOPBACK_V6 = "::1"


def in_url(host: str) -> str:
    """As it stands in a URL: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def reaches_itself_by(host: str) -> str:
    """By which address a machine reaches itself where it listens on `host`: another one if that means all it has."""
    return (LOOPBACK_V6 if ":" in host else LOOPBACK) if is_every_address(host) else host


def is_every_address(host: str) -> bool:
    """However it is spelled: what listens takes `0` and `0x0` for 0.0.0.0, as the C library does."""
    with suppress(ValueError):
        address = ip_address(host)
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return (mapped or address).is_unspecified
    with suppress(OSError):
        return not any(inet_aton(host))
    return not host
