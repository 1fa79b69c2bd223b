"""Test processes beside each other: no port is given to two of them."""

from __future__ import annotations

import socket
import subprocess
import sys

from app.base.addresses import LOOPBACK
from tests.support.machine.ports import BLOCKS, free_ports

ASK = (
    "import sys; from tests.support.machine.ports import free_ports; "
    "print(*free_ports(200), flush=True); sys.stdin.read()"
)


def test_two_processes_are_never_given_the_same_port() -> None:
    command = (sys.executable, "-c", ASK)
    beside = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    given = [free_ports(200)]
    for process in beside:
        assert process.stdout is not None
        given.append([int(port) for port in process.stdout.readline().split()])
    for process in beside:
        process.communicate("")
    assert [len(set(ports)) for ports in given] == [200, 200, 200]
    assert len(set().union(*given)) == 600


def test_a_port_that_is_taken_is_not_given() -> None:
    with socket.socket() as taken:
        (port,) = free_ports(1)
        taken.bind((LOOPBACK, port))
        assert port not in free_ports(BLOCKS.step - 2)
