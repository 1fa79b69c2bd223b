"""Avro in the Confluent framing, decoded in the JVM, with a guard that no bad record passes.

`from_avro` sees neither the header nor trailing bytes and answers a broken record with nulls. So a record counts as
decoded only if it has a known schema id and, encoded again, gives the very same bytes; Java passes text that
is no UTF-8 through both ways, so that is asked for too. All others are *suspects*,
which `app.codecs.avro.strict` looks at one by one. A suspect may turn out well (an unusual but legal encoding).

The JVM is given each writer's types under names of our own: it is stricter about names and defaults than those who
registered them may have been, and Spark's columns do not tell upper from lower case. Schemas of the same fields, as
those that differ in a word of documentation, are read as one: each *layout* takes a second to be planned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.avro.functions import from_avro, to_avro

from app.codecs.avro.admission import is_readable
from app.codecs.avro.fit import can_give
from app.codecs.avro.schema import HEADER_BYTES, WriterSchema
from app.domain import source as s
from app.domain.records import Reason
from app.domain.rules.epochs import AS_DECLARED, Rules
from spark_batch.source.column_types import SPARK, refused
from spark_batch.source.conditions import held
from spark_batch.source.derived import made
from spark_batch.source.epochs import refusals, with_held

PLAIN_TYPES = {"int", "long", "string", "boolean"}
MICROS_PER_MILLI = 1000
MOST_LAYOUTS = 16
"""Values of further ones are suspects."""
LARGE_BYTES = 1 << 20
"""Larger values are suspects: each step of the JVM would make a copy."""
WriterLayout = Sequence[WriterSchema]
"""Schemas of the same fields, in the same order."""


def decode(raw: DataFrame, source: s.Source, writer_schemas: Sequence[WriterSchema]) -> DataFrame:
    """`raw` with one column per column of the source, and `suspect`; a suspect's columns are all null.

    Its `header` may be there already: the first bytes of values that are not.
    """
    plain = layouts(writer_schemas, source.columns)
    behind = F.expr(f"substring(value, {HEADER_BYTES + 1})")
    framed = raw.withColumn("body", F.when(F.length("value") <= LARGE_BYTES, behind))
    if "header" not in raw.columns:
        framed = framed.withColumn("header", F.expr(f"substring(value, 1, {HEADER_BYTES})"))
    parsed = framed.withColumns({_record(layout): _parsed(layout) for layout in plain})
    guarded = parsed.withColumn("suspect", ~_any([_unchanged(layout) for layout in plain]))
    values = {column.name: F.when(~F.col("suspect"), _value(column, plain)) for column in source.columns}
    return guarded.select(*raw.columns, "suspect", *(value.alias(name) for name, value in values.items()))


def with_reasons(decoded: DataFrame, source: s.Source, rules: Rules = AS_DECLARED) -> DataFrame:
    """`decoded` with the derived columns, those of rules, and `reason`: why a decoded record is unusable, null where it
    is not.

    Derived columns are worked out only within bounds: outside, a difference may overflow. A Kafka timestamp may be any
    number; one whose microseconds have no 64 bits is ahead of every instant.
    """
    bounded = with_held(decoded, source, rules).withColumn("reason", F.when(~F.col("suspect"), _out_of_bounds(source)))
    within = F.col("reason").isNull() & ~F.col("suspect")
    derived = bounded.withColumns({d.column.name: F.when(within, made(d)) for d in source.derived})
    full = derived.withColumns({r.name: F.when(within, held(r.condition).cast("bigint")) for r in source.rules})
    latest = F.try_add(F.try_multiply(F.col("timestamp_ms"), F.lit(MICROS_PER_MILLI)), F.col("skew_us"))
    in_time = F.when(F.col("timestamp_ms") < 0, Reason.NO_TIMESTAMP.value).when(
        F.col(source.reported_at) > latest, Reason.SKEWED.value
    )
    told = F.when(within, F.coalesce(in_time, _unclean(source, rules))).otherwise(F.col("reason"))
    return full.withColumn("reason", told).drop("skew_us", "refused_by")


def layouts(schemas: Iterable[WriterSchema], columns: Sequence[s.Column]) -> Sequence[WriterLayout]:
    """The schemas that the JVM reads, by layout, MOST_LAYOUTS at most: those with the lowest ids."""
    alike = dict[str, list[WriterSchema]]()
    for schema in sorted(schemas, key=lambda schema: schema.id):
        if is_plain(schema, columns):
            fields = [[field["name"], field["type"]] for field in schema.declared["fields"]]
            alike.setdefault(json.dumps(fields), []).append(schema)
    return list(alike.values())[:MOST_LAYOUTS]


def is_plain(schema: WriterSchema, columns: Sequence[s.Column]) -> bool:
    """Whether the JVM's round trip can be trusted: of plain, perhaps nullable, fields that the columns can take."""
    if not is_readable(schema, columns):
        return False
    declared, by_name = schema.declared["fields"], {column.name: column for column in columns}
    if not all(map(_is_plain_field, declared)):
        return False
    given = [(by_name[field["name"]], _kinds(field)) for field in declared if field["name"] in by_name]
    return all(can_give(column, kind) for column, (kind,) in given)


def _is_plain_field(field: Mapping[str, Any]) -> bool:
    kinds = _kinds(field)
    return len(kinds) == 1 and isinstance(kinds[0], str) and kinds[0] in PLAIN_TYPES


def _kinds(field: Mapping[str, Any]) -> list[Any]:
    return [branch for branch in _branches(field) if branch != "null"]


def _branches(field: Mapping[str, Any]) -> list[Any]:
    declared = field["type"]
    return declared if isinstance(declared, list) else [declared]


def _record(layout: WriterLayout) -> str:
    return f"record_{layout[0].id}"


def _is_of(layout: WriterLayout) -> Column:
    """Whether a value is framed as of one of these schemas, with at least a byte behind the header."""
    return F.col("header").isin([F.lit(schema.header) for schema in layout]) & (F.length("value") > HEADER_BYTES)


def _parsed(layout: WriterLayout) -> Column:
    return from_avro(F.when(_is_of(layout), F.col("body")), _for_java(layout), {"mode": "PERMISSIVE"})


def _for_java(layout: WriterLayout) -> str:
    fields = [{"name": f"f{at}", "type": field["type"]} for at, field in enumerate(_fields(layout))]
    return json.dumps({"type": "record", "name": "Written", "fields": fields})


def _fields(layout: WriterLayout) -> Sequence[Mapping[str, Any]]:
    fields: Sequence[Mapping[str, Any]] = layout[0].declared["fields"]
    return fields


def _unchanged(layout: WriterLayout) -> Column:
    """Whether a value was decoded by this layout and gives its bytes back. A broken one is a struct of nulls, which
    `to_avro` refuses where a field may not be null: asked only if such a field was found."""
    record, fields = F.col(_record(layout)), list(enumerate(_fields(layout)))
    found = _all([record[f"f{at}"].isNotNull() for at, field in fields if "null" not in _branches(field)])
    texts = [record[f"f{at}"] for at, field in fields if "string" in _branches(field)]
    legible = _all([F.coalesce(F.is_valid_utf8(text), F.lit(True)) for text in texts])
    same = (to_avro(record, _for_java(layout)) == F.col("body")) & legible
    return F.coalesce(F.when(_is_of(layout), F.when(found, same)), F.lit(False))


def _value(column: s.Column, plain: Sequence[WriterLayout]) -> Column:
    places = [(layout, at) for layout in plain for at, f in enumerate(_fields(layout)) if f["name"] == column.name]
    found = [F.col(_record(layout))[f"f{at}"].cast(SPARK[column.kind].sql) for layout, at in places]
    return F.coalesce(*found) if found else F.lit(None).cast(SPARK[column.kind].sql)


def _out_of_bounds(source: s.Source) -> Column:
    return F.coalesce(*(F.when(refused(c), f"{Reason.OUT_OF_BOUNDS}:{c.name}") for c in source.columns))


def _unclean(source: s.Source, rules: Rules) -> Column:
    """The reason of a record that the rules of its epoch refuse, the first of them; null of any other."""
    refused = [
        F.when((F.col("refused_by") == at) & held(condition), f"{Reason.UNCLEAN}:{name}")
        for at, refusing in enumerate(refusals(source, rules))
        for name, condition in source.conditions(refusing)
    ]
    return F.coalesce(F.lit(None).cast("string"), *refused)


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
