"""The registry wrapper against a real registry."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from app.base.errors import RegistryUnavailable, SchemaRefused
from app.base.registry.client import Registry
from app.base.settings import Settings
from app.codecs.avro.evolution import obstacles
from app.edge.cli.main import run
from app.rides.ride import avro_schema
from tests.support.fake_registry import CONTRACT, contract
from tests.support.machine.workers import environment_of
from tests.support.material.schemas.versions import RIDE_VERSIONS


def _with_field(field: dict[str, Any]) -> dict[str, Any]:
    schema = avro_schema()
    return schema | {"fields": [*schema["fields"], field]}


def _changed(name: str, change: dict[str, Any] | None) -> dict[str, Any]:
    """Our schema with another such field, or without it."""
    fields = [field if field["name"] != name else field | (change or {}) for field in avro_schema()["fields"]]
    return avro_schema() | {"fields": [field for field in fields if change or field["name"] != name]}


@pytest.fixture
def subject(settings: Settings) -> str:
    return f"{settings.app_id}-value"


def test_a_schema_is_registered_once_and_comes_back_by_its_id(settings: Settings, subject: str) -> None:
    schema_id = Registry(settings).register(subject, avro_schema())
    again = Registry(settings)
    assert again.register(subject, avro_schema()) == schema_id
    found = again.writer_schema(schema_id)
    assert found is not None
    assert found.declared == avro_schema()


def test_workers_that_register_a_new_subject_at_once_agree(settings: Settings, subject: str) -> None:
    """Each makes the subject's rule if there is none: all but one find it made meanwhile."""
    registries = [Registry(settings) for _ in range(8)]
    with ThreadPoolExecutor(len(registries)) as pool:
        ids = list(pool.map(lambda registry: registry.register(subject, avro_schema()), registries))
    assert len(set(ids)) == 1
    with pytest.raises(SchemaRefused, match=subject):
        Registry(settings).register(subject, _with_field({"name": "x", "type": "long"}))


def test_a_nullable_field_may_be_added(settings: Settings, subject: str) -> None:
    registry = Registry(settings)
    first = registry.register(subject, avro_schema())
    assert registry.register(subject, _with_field({"name": "x", "type": ["null", "long"], "default": None})) != first


def test_a_field_without_default_is_refused(settings: Settings, subject: str) -> None:
    registry = Registry(settings)
    registry.register(subject, avro_schema())
    with pytest.raises(SchemaRefused, match=subject):
        registry.register(subject, _with_field({"name": "x", "type": "long"}))


def test_a_subject_says_whether_it_holds_the_schema(settings: Settings, subject: str) -> None:
    registry = Registry(settings)
    assert registry.state(subject, avro_schema()) == "missing"
    registry.register(subject, avro_schema())
    assert registry.state(subject, avro_schema()) == "registered"
    other = _with_field({"name": "x", "type": ["null", "long"], "default": None})
    assert registry.state(subject, other) == "other schema"


def test_an_id_that_does_not_exist_is_a_definite_answer(settings: Settings) -> None:
    assert Registry(settings).writer_schema(4711) is None


@pytest.mark.parametrize("schema_id", [0, 2**31 - 1, 2**31, 2**32 - 1])
def test_an_id_that_no_registry_gives_is_unknown_too(settings: Settings, schema_id: int) -> None:
    """The framing has room for more ids than there can be; asked for one, a registry may answer that it is broken."""
    assert Registry(settings).writer_schema(schema_id) is None


def test_a_schema_of_another_kind_is_told_as_what_it_is(settings: Settings, subject: str) -> None:
    client = SchemaRegistryClient({"url": settings.registry_url})
    proto = client.register_schema(
        f"proto-{subject}", Schema('syntax = "proto3"; message R { string a = 1; }', "PROTOBUF")
    )
    text = client.register_schema(f"text-{subject}", Schema('"string"', "AVRO"))
    registry = Registry(settings)
    found = [registry.writer_schema(schema_id) for schema_id in (proto, text)]
    assert [one and (one.kind, one.declared) for one in found] == [("PROTOBUF", None), ("AVRO", "string")]
    assert [version.schema.kind for version in registry.versions(f"proto-{subject}")] == ["PROTOBUF"]


def test_it_answers_as_the_one_that_unit_tests_have_in_its_place(settings: Settings) -> None:
    assert contract(settings.registry_url) == CONTRACT


def test_a_registry_that_cannot_be_reached_is_no_answer(settings: Settings) -> None:
    nowhere = Registry(settings.model_copy(update={"registry_url": "http://127.0.0.1:1"}))
    with pytest.raises(RegistryUnavailable, match=r"127\.0\.0\.1:1"):
        nowhere.writer_schema(1)


def test_a_404_of_something_else_is_no_answer(settings: Settings) -> None:
    wrong_path = Registry(settings.model_copy(update={"registry_url": f"{settings.registry_url}/nothing/here"}))
    with pytest.raises(RegistryUnavailable):
        wrong_path.writer_schema(1)


CHANGES = {
    "an older version": RIDE_VERSIONS[0],
    "a field that may be null": _with_field({"name": "x", "type": ["null", "long"], "default": None}),
    "a field without default": _with_field({"name": "x", "type": "long"}),
    "a demanded field less": _changed("pickup_at_us", None),
    "another type": _changed("pickup_at_us", {"type": "string"}),
    "a wider number": _changed("pickup_at_us", {"type": "double"}),
    "a narrower number": _changed("fare_cents", {"type": ["null", "int"], "default": None}),
    "another name": _changed("pickup_at_us", {"name": "picked_up_at_us"}),
    "another name with an alias": _changed("pickup_at_us", {"name": "picked_up_at_us", "aliases": ["pickup_at_us"]}),
    "another name of what may be null": _changed("vendor", {"name": "supplier"}),
    "another name of what may be null, with an alias": _changed("vendor", {"name": "supplier", "aliases": ["vendor"]}),
    "numbers of another kind": _changed("fare_cents", {"type": ["null", "double"]}),
    "another record": {**avro_schema(), "name": "Trip"},
    "a symbol": _with_field(
        {"name": "x", "type": {"type": "enum", "name": "E", "symbols": ["A"], "default": "A"}, "default": "A"}
    ),
    "a list of nothing": _with_field({"name": "x", "type": {"type": "array", "items": "null"}, "default": []}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_registry_takes_what_has_no_obstacle_and_nothing_else(
    settings: Settings, subject: str, change: str
) -> None:
    registry, ours, theirs = Registry(settings), avro_schema(), CHANGES[change]
    registry.register(subject, ours)
    resolves = not obstacles(ours, theirs) and not obstacles(theirs, ours)
    assert registry.accepts(subject, theirs) == resolves
    if resolves:
        registry.register(subject, theirs)
    else:
        with pytest.raises(SchemaRefused, match=subject):
            registry.register(subject, theirs)


@pytest.mark.parametrize("default", [{}, {"default": "A"}])
def test_a_symbol_more_is_taken_where_the_enum_has_a_default(
    settings: Settings, subject: str, default: dict[str, str]
) -> None:
    def with_symbols(*symbols: str) -> dict[str, Any]:
        enum = {"type": "enum", "name": "Meter", "symbols": symbols, **default}
        return _with_field({"name": "meter", "type": enum, "default": "A"})

    registry, fewer, more = Registry(settings), with_symbols("A"), with_symbols("A", "B")
    registry.register(subject, fewer)
    assert registry.accepts(subject, more) == bool(default) == (not obstacles(fewer, more))


def test_a_subject_without_versions_takes_any_schema(settings: Settings, subject: str) -> None:
    assert Registry(settings).accepts(subject, avro_schema())


def test_a_schema_is_checked_before_anybody_registers_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment_of(settings).items():
        monkeypatch.setenv(name, value)
    topic, file = "rides.yellow", tmp_path / "ride-v5.avsc"
    Registry(settings).register(f"{topic}-value", avro_schema())

    def check(change: str) -> tuple[int, str]:
        file.write_text(json.dumps(CHANGES[change]))
        code = run(["schemas", "check", str(file), "--topic", topic])
        return code, capsys.readouterr().out

    assert check("a field that may be null") == (0, f"{topic}-value: the registry would take it\n")
    code, told = check("a wider number")
    assert code == 1
    assert "the registry would refuse it" in told
    assert "version 1 would not read it: pickup_at_us: double cannot be read as long" in told
    assert "workers would quarantine its records: field pickup_at_us: it is double" in told
    code, told = check("a list of nothing")
    assert (code, "any time to read" in told) == (1, True)
