"""Three brokers, three copies, two in sync: a changelog's leader is killed, again and again; or two of the three."""

from __future__ import annotations

import time

from tests.drills.world.field import Field


def run(field: Field) -> None:
    field.start_workers(2)
    for _ in range(field.size.rounds):
        field.let_rides_pass(1, 3)
        partition = field.rng.randrange(field.settings.topics.partitions)
        # a leader alone in sync, as it may be while brokers are slow to start, has no one to follow it
        field.wait(field.brokers.in_sync, "every partition has its three copies", mend=True)
        leader = _leader(field, partition)
        field.changelog_ends()
        field.note("leader-kill", node=leader + 1, partition=partition)
        field.brokers.kill(leader)
        try:
            field.changelog_ends()  # of whoever leads now, though it was asked of the old one before
            field.pause(0, 6)
        finally:
            field.brokers.start(leader)
        field.wait(field.brokers.in_sync, "every partition has its three copies again", mend=True)
        field.wait(field.fleet.own_all, "the workers share all tasks", mend=True)


def two_down(field: Field) -> None:
    """One broker alone takes no write and leads no cluster: nobody claims a task until another is back."""
    field.start_workers(2)
    for _ in range(field.size.rounds):
        field.let_rides_pass(1, 3)
        field.wait(field.brokers.in_sync, "every partition has its three copies", mend=True)
        down = field.rng.sample(range(3), 2)
        field.note("two-killed", nodes=[node + 1 for node in down])
        for node in down:
            field.brokers.kill(node)
        try:
            field.wait(lambda: not field.fleet.tasks(), "nobody claims a task")
            field.pause(0, 6)
        finally:
            for node in down:
                field.brokers.start(node)
        field.note("brokers-start")
        began = time.monotonic()
        field.wait(field.fleet.own_all, "the workers share all tasks", mend=True)
        field.note("goes-on", after_seconds=round(time.monotonic() - began, 1))
        field.wait(field.brokers.in_sync, "every partition has its three copies again", mend=True)


def _leader(field: Field, partition: int) -> int:
    return field.brokers.leader_of(field.changelog, partition)
