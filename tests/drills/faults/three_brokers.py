"""Three brokers, three copies, two in sync: the leader of a changelog partition is killed, again and again."""

from __future__ import annotations

from tests.drills.field import Field


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


def _leader(field: Field, partition: int) -> int:
    return field.brokers.leader_of(field.changelog, partition)
