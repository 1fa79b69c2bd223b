"""A group's value as a parameter says it, and back: in questions, between workers, in links to records behind a row.

A text stands as it is. One that would be taken for something else, as it is the word for null or begins with a quote,
stands in double quotes as JSON has it; any other may.
"""

from __future__ import annotations

import orjson

from app.domain.records import Value
from app.domain.source import Column, Kind
from app.domain.view import Group, View
from app.edge.http.problems import bad_parameter

NULL, QUOTE = "null", '"'
FLAGS = {"false": 0, "true": 1}
"""As JSON has them, and as they are stored and told."""


def group_text(value: Value) -> str:
    """The text by which `group_value` reads the value again."""
    if value is None:
        return NULL
    text = str(value)
    is_quoted = text == NULL or text.startswith(QUOTE)
    return orjson.dumps(text).decode() if is_quoted else text


def group_value(view: View, group: Group, text: str) -> Value:
    """The value of one of the view's groups, None for null; a problem that says what it may be."""
    if text == NULL:
        return None
    column = view.source.by_name[group.column]
    if column.kind is Kind.TEXT:
        return _unquoted(group, text) if text.startswith(QUOTE) else text
    if column.kind is Kind.FLAG and text in FLAGS:
        return FLAGS[text]
    low, high = integer_range(column)
    if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20 and low <= int(text) <= high:
        return int(text)
    words = f"{', '.join(FLAGS)}, " if column.kind is Kind.FLAG else ""
    raise bad_parameter(group.name, text, f"{words}a whole number from {low} to {high}, or {NULL}")


def integer_range(column: Column) -> tuple[int, int]:
    """Values that a group over the column can have; the least 64-bit number stands for null inside."""
    if column.kind is Kind.FLAG:
        return min(FLAGS.values()), max(FLAGS.values())
    low = 1 - (1 << 63) if column.low is None else column.low
    return low, (1 << 63) - 1 if column.high is None else column.high


def _unquoted(group: Group, text: str) -> str:
    try:
        told = orjson.loads(text)
    except orjson.JSONDecodeError:
        told = None
    if isinstance(told, str):
        return told
    allowed = f"what begins with a quote is a text of JSON, as {group_text(NULL)} for the text that {NULL} is not"
    raise bad_parameter(group.name, text, allowed)
