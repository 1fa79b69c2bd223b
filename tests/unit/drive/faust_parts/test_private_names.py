"""The private names of aiokafka, Faust and mode that the engine uses are there, are all listed, and mean the same."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.metadata
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import app.engine.drive
from app.engine.drive.faust_parts.private import ATTRIBUTES, BODIES, METHODS, VERSIONS, Attribute, Body, Method

DRIVE = Path(app.engine.drive.__path__[0])
PACKAGES = ("aiokafka", "faust", "mode")
AFTERWARDS = "; then bring app/engine/drive/faust_parts/private.py up to date (docs/decisions/0009-private-names.md)"
PRIVATE = re.compile(r"_[a-z]\w*")
STANDARD_LIBRARY = {"_exit", "_current_frames"}


def found(path: str) -> Any:
    """The object of a dotted path; AttributeError or ImportError naming what is gone."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            target: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            target = inspect.getattr_static(target, part)
        return target
    raise ImportError(path)


@functools.cache
def names_set_by(owner: Any) -> set[str]:
    """Attributes that a class or its bases declare or set on `self`; of a module, what it has."""
    if isinstance(owner, ModuleType):
        return set(dir(owner))
    names = set(dir(owner))
    for one in inspect.getmro(owner):
        if not one.__module__.startswith(PACKAGES) or _is_compiled(one):
            continue
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(one)))):
            match node:
                case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                    names.add(name)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    names.add(name)
    return names


def _is_compiled(one: type) -> bool:
    """Its attributes are all in `dir`, and it has no source."""
    return not str(inspect.getfile(one)).endswith(".py")


def broken(listed: Attribute | Method | Body) -> str | None:
    """What is wrong with a name of the list, in words; None if nothing."""
    path = listed.path if isinstance(listed, Body) else f"{listed.owner}.{listed.name}"
    package = path.partition(".")[0]
    installed = _installed(package)
    try:
        match listed:
            case Attribute():
                there = listed.name in names_set_by(found(listed.owner))
                return None if there else f"{path}, used for: {listed.used_for}, is gone in {installed}{AFTERWARDS}"
            case Method():
                parameters = tuple(
                    p for p in inspect.signature(_function(found(path))).parameters if p not in ("self", "cls")
                )
                if parameters == listed.parameters:
                    return None
                return f"{path}, used for: {listed.used_for}, takes {parameters} in {installed}{AFTERWARDS}"
            case Body():
                digest = hashlib.sha256(inspect.getsource(_function(found(path))).encode()).hexdigest()[:16]
                if digest == listed.digest:
                    return None
                return (
                    f"{path} reads otherwise in {installed} ({digest}): read it, and hold app/engine/drive/"
                    f"{listed.held_against} against it{AFTERWARDS}"
                )
    except (AttributeError, ImportError) as error:
        return f"{path} is gone in {installed} ({error}){AFTERWARDS}"


def _installed(package: str) -> str:
    (name,) = [n for n in VERSIONS if n.startswith(package)]
    return f"{name} {importlib.metadata.version(name)} (listed from {VERSIONS[name]})"


def _function(target: Any) -> Any:
    if isinstance(target, property):
        return target.fget
    return inspect.unwrap(getattr(target, "fun", getattr(target, "__func__", target)))


@pytest.mark.parametrize("listed", [*ATTRIBUTES, *METHODS, *BODIES], ids=str)
def test_what_is_listed_is_as_it_was(listed: Attribute | Method | Body) -> None:
    assert broken(listed) is None, broken(listed)


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (Attribute("aiokafka.consumer.fetcher.Fetcher", "_gone", "a test"), "_gone, used for: a test, is gone in aio"),
        (Attribute("aiokafka.consumer.fetcher.Gone", "_records", "a test"), "is gone in aiokafka"),
        (Attribute("aiokafka.gone", "_records", "a test"), "is gone in aiokafka"),
        (Method("faust.transport.consumer.Consumer", "_new_offset", ("a", "b"), "a test"), "takes ('tp',) in faust"),
        (Method("faust.transport.consumer.Consumer", "_gone", (), "a test"), "is gone in faust"),
        (Body("mode.services.Service.crash", "0" * 16, "here"), "reads otherwise in mode-streaming"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_change_is_told_in_words(listed: Attribute | Method | Body, words: str) -> None:
    assert words in str(broken(listed))


def test_every_private_name_that_the_engine_reaches_for_is_listed() -> None:
    listed = {one.name for one in (*ATTRIBUTES, *METHODS)}
    unlisted = {name: place for name, place in _reached_for() if name not in listed | STANDARD_LIBRARY}
    assert unlisted == {}, f"not in app/engine/drive/faust_parts/private.py: {unlisted}"


def test_everything_listed_is_used() -> None:
    words = set(re.findall(r"\w+", "".join(p.read_text() for p in DRIVE.rglob("*.py") if p.stem != "private")))
    unused = sorted({one.name for one in (*ATTRIBUTES, *METHODS)} - words)
    assert not unused, (
        f"app/engine/drive/faust_parts/private.py lists {unused}, which nothing in app/engine/drive uses: take it out"
    )


def test_the_engine_shadows_no_name_of_a_base_class_by_accident() -> None:
    """A name that an upgrade brings may be one that we have taken; it would then be called instead of theirs."""
    overridden = {one.name for one in METHODS} | {"__init__"}
    taken = {f"{ours.__name__}.{name}" for ours, name in _defined() if name not in overridden | PUBLIC_OVERRIDES}
    assert taken == set()


PUBLIC_OVERRIDES = {
    *("loads_key", "loads_value", "persisted_offset", "on_recovery_completed", "apply_changelog_batch"),  # documented
    *("on_start", "on_stop", "enable_web", "Consumer", "BootStrategy", "_recovery", "changelog_name", "abstract"),
    *("API_KEY", "API_VERSION", "FLEXIBLE_VERSION", "RESPONSE_TYPE", "SCHEMA"),  # how aiokafka's requests are declared
    *("build", "parse_response_header", "create_request", "handle_response"),
}


def test_the_list_is_of_the_versions_that_are_pinned() -> None:
    here = {name: importlib.metadata.version(name) for name in VERSIONS}
    others = [f"{name} {here[name]} is here, {told} is listed" for name, told in VERSIONS.items() if here[name] != told]
    assert not others, (
        f"{'; '.join(others)}: hold app/engine/drive/faust_parts/private.py against it name by name, "
        "then change VERSIONS there (docs/decisions/0009)"
    )


def _modules() -> Iterator[ModuleType]:
    for path in sorted(DRIVE.rglob("*.py")):
        yield importlib.import_module(".".join(("app.engine.drive", *path.relative_to(DRIVE).with_suffix("").parts)))


def _classes() -> Iterator[type]:
    """Ours that have a base class of theirs."""
    for module in _modules():
        for one in vars(module).values():
            if inspect.isclass(one) and one.__module__ == module.__name__ and _theirs(one):
                yield one


def _theirs(ours: type) -> list[type]:
    return [base for base in inspect.getmro(ours) if base.__module__.partition(".")[0] in PACKAGES]


def _defined() -> Iterator[tuple[type, str]]:
    """Names that a class of ours defines, or sets on `self`, and that a base class of theirs has as well."""
    for ours in _classes():
        there: set[str] = set().union(*(names_set_by(base) for base in _theirs(ours)))
        yield from ((ours, name) for name in sorted(_names_of(ours) & there))


def _names_of(ours: type) -> set[str]:
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(ours))).body
    names = {node.attr for node in ast.walk(body) if isinstance(node, ast.Attribute) and _is_self_store(node)}
    for node in ast.iter_child_nodes(body):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
    return names


def _is_self_store(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _reached_for() -> Iterator[tuple[str, str]]:
    """Private names of objects that are not our own, and where each is used."""
    derived = {one.__name__: one for one in _classes()}
    for path in sorted(DRIVE.rglob("*.py")):
        for outer in ast.parse(path.read_text()).body:
            ours = derived.get(outer.name) if isinstance(outer, ast.ClassDef) else None
            own = _names_of(ours) if ours else set()
            for node in ast.walk(outer):
                if not isinstance(node, ast.Attribute) or not PRIVATE.fullmatch(node.attr):
                    continue
                of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
                if not of_self or (ours is not None and node.attr not in own):
                    yield node.attr, f"{path.name}:{node.lineno}"
