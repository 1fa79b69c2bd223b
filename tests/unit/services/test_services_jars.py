"""The pin list and what it refuses; no network."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.base.services import jars
from app.base.services.errors import JarError


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A list of one small file, which is in the cache."""
    file = tmp_path / "cache" / "jars" / "kafka" / "part-1.0.jar"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"genuine")
    listed = tmp_path / "jars.sha256"
    listed.write_text(f"# comment\n{jars.file_sha256(file)} 7 kafka org.example:part:1.0\n")
    monkeypatch.setattr(jars, "LIST", listed)
    monkeypatch.setattr(jars, "pins", jars.pins.__wrapped__)
    return file


@pytest.mark.parametrize("set_name", [*jars.SETS, jars.BENCH_SET, jars.FLINK_SET])
def test_every_set_is_pinned(set_name: str) -> None:
    assert all(len(pin.sha256) == 64 and pin.size_bytes > 0 for pin in jars.pins(set_name))
    names = [pin.file_name for pin in jars.pins(set_name)]
    assert names
    assert len(set(names)) == len(names)


def test_kafka_comes_with_clients_of_its_own_version() -> None:
    """Resolved together with the log4j binding, the BOM of the latter once brought kafka-clients 3.9."""
    coordinates = {pin.coordinate for pin in jars.pins("kafka")}
    (broker,) = (one for one in coordinates if ":kafka_2.13:" in one)
    assert f"org.apache.kafka:kafka-clients:{broker.rsplit(':', 1)[1]}" in coordinates


def test_flinks_own_parts_are_of_one_version() -> None:
    """Resolved by jgo with their dependencies, some came one minor version older."""
    ours = [pin.coordinate.split(":") for pin in jars.pins(jars.FLINK_SET)]
    own = {name: version for group, name, version in ours if group == "org.apache.flink"}
    apart = ("flink-shaded", "flink-connector-kafka")
    assert len({version for name, version in own.items() if not name.startswith(apart)}) == 1


def test_an_unknown_set_is_refused() -> None:
    with pytest.raises(KeyError, match="storm"):
        jars.pins("storm")


def test_what_is_cached_is_not_fetched(pinned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a warm cache the downloading library is not even imported."""
    monkeypatch.setitem(__import__("sys").modules, "jgo.maven", None)
    assert jars.missing("kafka", pinned.parents[2]) == []
    assert jars.fetch("kafka", pinned.parents[2]) == [pinned]


def test_a_changed_file_is_refused_and_named(pinned: Path) -> None:
    pinned.write_bytes(b"changed")
    with pytest.raises(JarError, match=r"part-1\.0\.jar is not org\.example:part:1\.0 as pinned"):
        jars.jar_paths("kafka", pinned.parents[2])


def test_a_missing_file_says_how_to_get_it(pinned: Path) -> None:
    pinned.unlink()
    with pytest.raises(JarError, match="flagfall services fetch"):
        jars.jar_paths("kafka", pinned.parents[2])
    assert [pin.file_name for pin in jars.missing("kafka", pinned.parents[2])] == ["part-1.0.jar"]


def test_a_download_with_other_bytes_leaves_nothing(pinned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """jgo would keep it; we must not."""
    from jgo.maven import Artifact

    served = pinned.parents[2] / "served.jar"
    served.write_bytes(b"falsified")
    pinned.unlink()
    monkeypatch.setattr(Artifact, "resolve", lambda artifact: served)
    with pytest.raises(JarError, match="nothing was kept"):
        jars.fetch("kafka", pinned.parents[2])
    assert [path.name for path in pinned.parent.iterdir()] == [".lock"]


def test_a_tree_has_one_sum_over_names_and_contents(tmp_path: Path) -> None:
    """A changed, renamed or added file changes it; the directory's own name does not."""
    one = tmp_path / "one"
    (one / "lib").mkdir(parents=True)
    (one / "lib" / "a").write_text("a")
    (one / "b").write_text("b")
    two = tmp_path / "two"
    shutil.copytree(one, two)
    assert jars.tree_sha256(one) == jars.tree_sha256(two)
    (two / "b").rename(two / "c")
    assert jars.tree_sha256(one) != jars.tree_sha256(two)
