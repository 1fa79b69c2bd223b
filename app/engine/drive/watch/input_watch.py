"""Looks again and again whether the topics that tasks read, and their changelog, are still those of their states.

The fetcher goes by names and offsets: a topic that was deleted and made again between two fetches gives it other
records at the same offsets, and partitions that were added give it nothing. Into a changelog that was made again a task
goes on writing, but its rows of before are not there for the next owner. A topic that is gone is told in time, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import mode

from app.base.kafka.cluster import Cluster, ClusterError, TopicFacts, TopicGone
from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition
from app.engine.core.begun import changelog_anew
from app.engine.drive.callbacks import EndWorker
from app.engine.drive.kafka.inputs import created_anew, other_count
from app.engine.drive.questions import AskBegun

LOOK_SECONDS = 2.0
"""So long at most may a task go on with another topic's records; its marker is refused from then on."""


class InputWatch(mode.Service):
    """`topics` are the inputs of a group, `changelog` holds what its tasks stored.

    `begun` gives the marker with which each task last began here, also once it has been handed over: a rebalance over
    a topic that is gone may leave the worker without tasks, and come to no other. `end` is called once, in words.
    """

    def __init__(
        self,
        cluster: Cluster,
        topics: Sequence[str],
        changelog: str,
        begun: AskBegun,
        *,
        partitions: int,
        end: EndWorker,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._cluster, self._changelog, self._begun = cluster, changelog, begun
        self._topics = (*topics, changelog)
        self._partitions, self._end = partitions, end
        self._is_gone = False

    async def on_start(self) -> None:
        self.add_future(self._watch())

    async def _watch(self) -> None:
        await self.sleep(LOOK_SECONDS)
        while not self.should_stop:  # a worker that ends asks nobody
            error = await self._look()
            if error is not None:
                await self._end(error)
                return
            await self.sleep(LOOK_SECONDS)

    async def _look(self) -> FlagfallError | None:
        try:
            facts = await asyncio.to_thread(self._cluster.topics, self._topics)
        except TopicGone as error:  # one broker may not know yet of a topic that was just made: two in a row
            was_gone, self._is_gone = self._is_gone, True
            return error if was_gone else None
        except ClusterError:
            return None
        self._is_gone = False
        return next(filter(None, (self._difference(topic, fact) for topic, fact in facts.items())), None)

    def _of_begun(self, topic: str) -> tuple[TopicPartition, str] | None:
        """One place of the topic, and the topic's id in that task's marker."""
        for partition, marker in self._begun().items():
            topic_id = marker.changelog_id if topic == self._changelog else marker.inputs[topic].topic_id
            return TopicPartition(topic, partition), topic_id
        return None

    def _difference(self, topic: str, facts: TopicFacts) -> FlagfallError | None:
        known = self._of_begun(topic)
        if known is not None and facts.id != known[1]:
            place, topic_id = known
            anew = changelog_anew if topic == self._changelog else created_anew
            return anew(place, facts.id, topic_id)
        if facts.partitions != self._partitions:
            return other_count(topic, facts.partitions, self._partitions)
        return None
