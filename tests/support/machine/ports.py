"""Ports for what tests start, so that tests that run beside each other never want the same one."""

from __future__ import annotations

import contextlib
import functools
import itertools
import socket
from collections.abc import Iterator

from app.base.addresses import LOOPBACK

BLOCK = 400
BLOCKS = range(10_000, 18_000, BLOCK)
"""Below the ports that the kernel gives to outgoing connections, and apart from the product's defaults and choices."""


def free_ports(count: int) -> list[int]:
    """Ports that are free now and that no other test process is given; each comes round again as late as can be."""
    return list(itertools.islice((port for port in _own_block() if _is_free(port)), count))


@functools.cache
def _own_block() -> Iterator[int]:
    """A block's ports, round and round; it is this process's until it ends.

    Whoever has bound the block's first port has the block: the kernel keeps that, whatever becomes of the process.
    A port chosen at random may be chosen by two while neither has bound it, which a gate meets once in ten runs.
    """
    for first in BLOCKS:
        held = socket.socket()
        try:
            held.bind((LOOPBACK, first))
        except OSError:
            held.close()
            continue
        return _round(held, range(first + 1, first + BLOCK))
    raise RuntimeError(f"each of the {len(BLOCKS)} blocks of ports in {BLOCKS} is held by another test process")


def _round(held: socket.socket, ports: range) -> Iterator[int]:
    with held:
        yield from itertools.cycle(ports)


def _is_free(port: int) -> bool:
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.bind((LOOPBACK, port))
        return True
    return False
