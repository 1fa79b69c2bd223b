"""Every drill, once."""

from __future__ import annotations

from tests.drills.drill import Drill
from tests.drills.faults import (
    brokers_down,
    changed_cluster,
    commit_gap,
    compaction,
    exception,
    kill,
    rebalance_storm,
    slow_recovery,
    static_membership,
    term,
    three_brokers,
    version,
    zombie,
)

DRILLS: dict[str, Drill] = {
    drill.name: drill
    for drill in (
        Drill("kill", "kill -9 of workers at random moments, several at once too", kill.run),
        Drill("commit-gap", "killed inside a transaction, and right after its commit", commit_gap.run),
        Drill("zombie", "frozen beyond the session, inside a take-over too, then awake again", zombie.run),
        Drill(
            "rebalance-storm", "workers come and go every 2 to 5 s", rebalance_storm.run, long_rounds=40, short_rounds=3
        ),
        Drill("term", "told to stop under load: drains, ends with 0, nothing is read again", term.run),
        Drill(
            "broker-restart",
            "the only broker is stopped and started",
            brokers_down.restart,
            long_rounds=4,
            forgets=True,
        ),
        Drill("broker-kill", "the only broker is killed and started", brokers_down.kill, long_rounds=4, forgets=True),
        Drill(
            "disk-full",
            "the only broker has no room any more, ends, and has room again",
            brokers_down.fill,
            long_rounds=4,
            forgets=True,
        ),
        Drill("compaction", "the changelog compacted by force, then a cold recovery", compaction.run, compacted=True),
        Drill(
            "three-brokers",
            "of three brokers the leader is killed",
            three_brokers.run,
            nodes=3,
            long_rounds=5,
            forgets=True,
        ),
        Drill(
            "two-down",
            "of three brokers two are killed: nothing is written, nobody claims a task",
            three_brokers.two_down,
            nodes=3,
            long_rounds=4,
            forgets=True,
        ),
        Drill(
            "changed-cluster",
            "topics made anew, deleted, widened, cut by retention: refused in words, another application is exact",
            changed_cluster.run,
            long_rounds=2,
        ),
        Drill("static-membership", "members with names: back in time, too late, twice", static_membership.run),
        Drill("slow-recovery", "workers come and go while many rows are recovered", slow_recovery.run),
        Drill("exception", "an agent, or the engine, raises: nothing is skipped", exception.run, long_rounds=6),
        Drill("version", "rows of layout 1 are kept, unreadable ones refused in words", version.run, long_rounds=7),
    )
}

IN_THE_GATE = {"kill": 1, "zombie": 2}
"""What `make test` runs too, in the short form: the seed of each."""
