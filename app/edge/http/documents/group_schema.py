"""How a group's values are named in questions, as the API document tells it."""

from __future__ import annotations

from app.domain.source import Column, Kind
from app.edge.http.query.group_values import FLAGS, NULL, group_text, integer_range
from app.edge.http.route import ApiDocument


def value_schema(column: Column) -> ApiDocument:
    """Of one value."""
    if column.kind is Kind.TEXT:
        return {"type": "string"}
    low, high = integer_range(column)
    words = [NULL, *(FLAGS if column.kind is Kind.FLAG else ())]
    return {"oneOf": [{"type": "integer", "minimum": low, "maximum": high}, {"enum": words}]}


def value_help(column: Column) -> str:
    """How what might be taken for something else is said."""
    told = f"`{NULL}` for rows without one"
    if column.kind is not Kind.TEXT:
        return f"{told}."
    quoted = group_text(NULL)
    return f"{told}; in double quotes, as JSON has it, a text that is `{NULL}` or begins with a quote: `{quoted}`."
