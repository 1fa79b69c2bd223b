"""Which offset ranges a table holds, and which of those that are wanted it does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from app.domain.records import TopicPartition
from spark_batch.errors import Invalid
from spark_batch.stored.cut import Span


def missing(wanted: Iterable[Span], held: Sequence[Span]) -> list[Span]:
    """What is wanted and not held, by topic-partition and offset. Invalid where they are of two topics of one name."""
    of = _by_place(held)
    return [gap for span in wanted for gap in _gaps(span, of[span.at])]


def together(held: Iterable[Span], added: Iterable[Span]) -> list[Span]:
    """All of both, as few spans as can be, in order. ValueError where they have an offset in common."""
    found = list[Span]()
    for span in sorted((*held, *added), key=lambda one: (*one.at, one.start)):
        if found and found[-1].at == span.at and found[-1].end >= span.start:
            if found[-1].end > span.start:
                raise ValueError(f"{span}: {found[-1]} has been added already")
            found[-1] = replace(found[-1], end=span.end, topic_id=found[-1].topic_id or span.topic_id)
        else:
            found.append(span)
    return found


def one_of_each(spans: Iterable[Span]) -> list[list[Span]]:
    """The spans in lists that have each topic-partition once."""
    lists = list[list[Span]]()
    for of_place in _by_place(spans).values():
        for nth, span in enumerate(of_place):
            if nth == len(lists):
                lists.append([])
            lists[nth].append(span)
    return lists


def _gaps(span: Span, held: Sequence[Span]) -> Iterator[Span]:
    start = span.start
    for one in sorted(held, key=lambda one: one.start):
        if None not in (span.topic_id, one.topic_id) and span.topic_id != one.topic_id:
            raise Invalid(
                f"{span}: the history is of topic id {one.topic_id}, tables are of {span.topic_id}: the topic "
                "was deleted and made again. Move the history away; the next run begins another"
            )
        if one.start > start and start < span.end:
            yield replace(span, start=start, end=min(one.start, span.end))
        start = max(start, one.end)
    if start < span.end:
        yield replace(span, start=start)


def _by_place(spans: Iterable[Span]) -> defaultdict[TopicPartition, list[Span]]:
    found: defaultdict[TopicPartition, list[Span]] = defaultdict(list)
    for span in spans:
        found[span.at].append(span)
    return found
