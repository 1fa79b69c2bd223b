"""What a release leaves in Kafka, written down by that release's own test kit:

    git worktree add ../then COMMIT
    PYTHONPATH=../then python tests/streaming/releases/earlier/write.py COMMIT > …/layout-N.json

Layout 8: the commit before 8ecc12f; 7: before 5c173ad; 6: before 69cc2bb.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

from shop import DECLARED, TASKS, sell

from app.codecs.stored.marker import LAYOUT
from app.testkit.harness import Harness

FIRST_MINUTE = 0


def main(commit: str) -> None:
    """Print the logs of a shop that has sold for half an hour, as readers of committed records see them."""
    shop = Harness(**DECLARED)
    sell(shop, FIRST_MINUTE)
    broker = shop._broker
    logs = [
        {"topic": log.topic, "partition": log.partition, "end": log.end, "records": list(_records(log))}
        for topic in sorted(broker.topics)
        for log in (broker.log(topic, partition) for partition in range(TASKS))
    ]
    json.dump({"layout": LAYOUT, "commit": commit, "logs": logs}, sys.stdout)


def _records(log: Any) -> Any:
    for entry in log.committed():
        key, value, headers, timestamp_ms = entry.record
        told = [[name, _text(one)] for name, one in headers]
        yield [entry.offset, _text(key), _text(value), told, timestamp_ms]


def _text(some: bytes | None) -> str | None:
    return None if some is None else base64.b64encode(some).decode()


if __name__ == "__main__":
    main(sys.argv[1])
