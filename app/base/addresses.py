"""Addresses of this machine, and what a host's spelling means."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from socket import inet_aton

LOOPBACK = "127.0.0.1"
LOOPBACK_V6 = "::1"


MOST_PORTS = 65535


def require_ports(brokers: str) -> str:
    """As it is, where it is `HOST:PORT[,HOST:PORT]` as each client of Kafka reads it; else ValueError.

    A port above the last is taken for another one by librdkafka; it would look for a broker there.
    """
    addresses = [one.strip() for one in brokers.split(",")]
    for address in filter(None, addresses):
        host, _, port = address.rpartition(":")
        is_port = port.isascii() and port.isdecimal() and 1 <= int(port) <= MOST_PORTS
        is_host = bool(host) and "/" not in host and (":" not in host or (host[0], host[-1]) == ("[", "]"))
        if not (is_host and is_port):
            raise ValueError(_no_broker(address))
    if brokers and not any(addresses):
        raise ValueError(_no_broker(brokers))
    return brokers


def _no_broker(address: str) -> str:
    return f"{address!r} is not HOST:PORT, as kafka-1:9092 or [::1]:9092; several are parted by commas"


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
