"""Avro in the Confluent framing, decoded in the JVM, with a guard that no bad record passes.

`from_avro` sees neither the header nor trailing bytes and answers a broken record with nulls. So a record counts as
decoded only if it has a known schema id and, encoded again, gives the very same bytes; Java passes text that
is no UTF-8 through both ways, so that is asked for too. All others are *suspects*,
which `app.codecs.avro_decode` looks at one by one. A suspect may turn out well (an unusual but legal encoding).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.avro.functions import from_avro, to_avro

from app.domain import source as s
from app.domain.records import Reason

HEADER_BYTES = 5
PLAIN_TYPES = {"int", "long", "string", "boolean"}
MICROS_PER_MILLI = 1000


def decode(raw: DataFrame, source: s.Source, writer_schemas: Mapping[int, str]) -> DataFrame:
    """`raw` with one column per column of the source, and `suspect`; a suspect's columns are all null."""
    plain = {number: json.loads(text) for number, text in writer_schemas.items() if is_plain(json.loads(text))}
    framed = raw.withColumns({"schema_id": _schema_id(), "body": F.expr(f"substring(value, {HEADER_BYTES + 1})")})
    parsed = framed.withColumns(
        {
            f"record_{n}": from_avro(
                F.when(F.col("schema_id") == n, F.col("body")), json.dumps(schema), {"mode": "PERMISSIVE"}
            )
            for n, schema in plain.items()
        }
    )
    guarded = parsed.withColumn("suspect", ~_any([_unchanged(n, schema) for n, schema in plain.items()]))
    values = {column.name: F.when(~F.col("suspect"), _value(column, plain)) for column in source.columns}
    return guarded.select(*raw.columns, "suspect", *(value.alias(name) for name, value in values.items()))


def judge(decoded: DataFrame, source: s.Source) -> DataFrame:
    """`decoded` with the derived columns and `reason`: why a decoded record is unusable, null where it is not.

    Derived columns are worked out only within bounds: outside, a difference may overflow.
    """
    bounded = decoded.withColumn("reason", F.when(~F.col("suspect"), _out_of_bounds(source)))
    within = F.col("reason").isNull() & ~F.col("suspect")
    full = bounded.withColumns({d.column.name: F.when(within, _derived(d)) for d in source.derived})
    latest = F.col("timestamp_ms") * MICROS_PER_MILLI + source.skew_seconds * 1_000_000
    in_time = F.when(F.col("timestamp_ms") < 0, Reason.NO_TIMESTAMP.value).when(
        F.col(source.reported_at) > latest, Reason.SKEWED.value
    )
    return full.withColumn("reason", F.when(within, in_time).otherwise(F.col("reason")))


def is_plain(schema: Any) -> bool:
    """Whether the JVM's round trip can be trusted for a writer schema: a record of plain, perhaps nullable, fields."""
    return isinstance(schema, dict) and schema.get("type") == "record" and all(map(_is_plain_field, schema["fields"]))


def sql_type(column: s.Column) -> str:
    """The Spark type that holds a source column."""
    return {s.Kind.TEXT: "string", s.Kind.FLAG: "boolean"}.get(column.kind, "bigint")


def _is_plain_field(field: Mapping[str, Any]) -> bool:
    branches = _branches(field)
    named = [branch for branch in branches if isinstance(branch, str)]
    kinds = [branch for branch in named if branch != "null"]
    return len(named) == len(branches) and len(kinds) == 1 and kinds[0] in PLAIN_TYPES


def _branches(field: Mapping[str, Any]) -> list[Any]:
    declared = field["type"]
    return declared if isinstance(declared, list) else [declared]


def _schema_id() -> Column:
    """The id in the header; null where there is no header or no byte behind it."""
    framed = F.expr(f"length(value) > {HEADER_BYTES} and substring(value, 1, 1) = X'00'")
    return F.when(framed, F.expr("cast(conv(hex(substring(value, 2, 4)), 16, 10) as bigint)"))


def _unchanged(number: int, schema: Mapping[str, Any]) -> Column:
    """Whether record `number` was decoded and gives its bytes back. A broken one is a struct of nulls, which
    `to_avro` refuses where a field may not be null: asked only if such a field was found."""
    record = F.col(f"record_{number}")
    required = [field["name"] for field in schema["fields"] if not isinstance(field["type"], list)]
    found = _all([record[name].isNotNull() for name in required])
    texts = [field["name"] for field in schema["fields"] if "string" in _branches(field)]
    legible = _all([F.coalesce(F.is_valid_utf8(record[name]), F.lit(True)) for name in texts])
    same = (to_avro(record, json.dumps(schema)) == F.col("body")) & legible
    return F.coalesce(F.when(F.col("schema_id") == number, F.when(found, same)), F.lit(False))


def _value(column: s.Column, schemas: Mapping[int, Mapping[str, Any]]) -> Column:
    holding = [n for n, schema in schemas.items() if column.name in {field["name"] for field in schema["fields"]}]
    found = [F.col(f"record_{n}")[column.name].cast(sql_type(column)) for n in holding]
    return F.coalesce(*found) if found else F.lit(None).cast(sql_type(column))


def _out_of_bounds(source: s.Source) -> Column:
    return F.coalesce(*(F.when(_outside(c), f"{Reason.OUT_OF_BOUNDS}:{c.name}") for c in source.columns))


def _outside(column: s.Column) -> Column:
    value = F.col(column.name)
    outside = F.lit(False) if column.nullable else value.isNull()
    if column.kind in (s.Kind.TEXT, s.Kind.FLAG):
        return outside
    if column.low is not None:
        outside = outside | F.coalesce(value < column.low, F.lit(False))
    if column.high is not None:
        outside = outside | F.coalesce(value > column.high, F.lit(False))
    return outside


def _derived(derived: s.Derived) -> Column:
    if isinstance(derived, s.Coalesce):
        return F.coalesce(*map(F.col, derived.columns))
    return F.col(derived.left) - F.col(derived.right)


def _all(conditions: list[Column]) -> Column:
    both = F.lit(True)
    for condition in conditions:
        both = both & condition
    return both


def _any(conditions: list[Column]) -> Column:
    either = F.lit(False)
    for condition in conditions:
        either = either | condition
    return either
