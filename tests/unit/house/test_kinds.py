"""Who uses a window, a measure, a derived column or a pairing asks what its contract says, never which kind it is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from app.domain.column import DERIVED
from app.domain.measures.kinds import MEASURES
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join
from app.domain.windows.kinds import KINDS
from app.engine.core.kinds.kernels import KERNELS
from app.testkit.simulation.parcels import ALL_VIEWS as SIMULATED

ROOT = Path(__file__).parents[3]
ASKED: tuple[type, ...] = (*KINDS.values(), *MEASURES.values(), *DERIVED.values(), Join, Alert)
NAMES = frozenset(kind.__name__ for kind in ASKED)
WORDS = NAMES | {*KINDS, *MEASURES}
MODULES = {kind.__module__: kind.__name__ for kind in KINDS.values()}
CELLS = frozenset(kind.last_cell for kind in KINDS.values()) - {None}
FOLDERS = ("app", "agents", "tables", "spark_batch", "tests", "benchmarks", "scripts")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def test_nobody_asks_which_kind_a_thing_is() -> None:
    assert list(_places(FILES, questions)) == []


def test_nobody_but_a_kind_of_window_knows_what_its_cells_are_called() -> None:
    """A view says where they are. Tests may say what users read in a row that is shown."""
    room = ROOT / "app/domain/windows"
    others = [path for path in FILES if not path.is_relative_to(room)]
    assert list(_places(others, foreign)) == []
    assert list(_places((path for path in others if not path.is_relative_to(ROOT / "tests")), cells)) == []


def test_each_kind_of_window_has_a_kernel_a_name_and_a_tag_of_its_own() -> None:
    kinds = set(KINDS.values())
    assert set(KERNELS) == kinds
    assert len({kind.tag for kind in kinds}) == len(kinds)
    assert all(kind.key == key for key, kind in KINDS.items())


def test_each_kind_of_window_and_measure_is_simulated() -> None:
    """Killed, restored, rebuilt and expired in histories that nobody wrote."""
    assert {type(view.window) for view in SIMULATED} == set(KINDS.values())
    assert {type(measure) for view in SIMULATED for measure in view.measures} == set(MEASURES.values())


def test_only_its_class_its_kernels_their_registries_and_views_name_a_kind_of_window() -> None:
    """What a kind takes: so many files, and no others. The test kit's views are material, as those of rides are."""
    windows = {kind.__name__ for kind in KINDS.values()}
    naming = {
        str(path.relative_to(ROOT))
        for path in FILES
        if not path.is_relative_to(ROOT / "tests") and windows & set(_imported(path))
    }
    kernels = {f"app/engine/core/kinds/{key}.py" for key in KINDS}
    registries = {"app/domain/windows/kinds.py", "app/engine/core/kinds/kernels.py", "spark_batch/folds/windows.py"}
    views = {
        name
        for name in naming
        if name.startswith(("app/rides/", "app/testkit/", "app/definitions/views.py", "benchmarks/"))
    }
    assert naming - kernels - registries - views == set()


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(view.window, Session)",
        "isinstance(window, AllTime | Session)",
        "isinstance(window, (windows.Hopping, int))",
        "issubclass(kind, Calendar)",
        "type(window) is Tumbling",
        "Tumbling == type(window)",
        "isinstance(measure, m.Sum)",
        "match window:\n    case Hopping(size_us=size_us):\n        pass",
        "view.window.key == 'session'",
        "'calendar' != view.window.key",
        "window.key in ('tumbling', 'hopping')",
        "window.key == Session.key",
        "measure.key == 'sum'",
        "type(window).__name__ == 'AllTime'",
        "window.__class__.__name__ == 'AllTime'",
        "type(window).__name__.lower() == 'session'",
        "match window.key:\n    case 'session' | 'hopping':\n        pass",
    ],
)
def test_a_question_for_a_kind_is_seen(question: str) -> None:
    assert list(questions(question))


@pytest.mark.parametrize(
    "said",
    [
        "isinstance(window, int)",
        "window == Tumbling('at', 5)",
        "Session('at', 5).gap_us",
        "record.key == key",
        "record.key == b'session'",
        "kind.key == key",
        "__name__ == '__main__'",
        "row['count'] == 5",
    ],
)
def test_what_is_no_such_question_is_left_alone(said: str) -> None:
    assert not list(questions(said))


@pytest.mark.parametrize(
    "read",
    [
        "from app.domain.windows.session import SESSION_END, Session",
        "import app.domain.windows.session",
        "view.cells.index(Session.last_cell)",
    ],
)
def test_a_foreign_read_of_a_kind_s_cell_is_seen(read: str) -> None:
    assert list(foreign(read))


@pytest.mark.parametrize(
    "read", ["from app.domain.windows.session import Session", "view.window.last_cell", "view.cells[view.last_at]"]
)
def test_whoever_asks_the_view_is_left_alone(read: str) -> None:
    assert not list(foreign(read))
    assert not list(cells(read))


def test_a_cell_that_is_called_by_its_name_is_seen() -> None:
    assert list(cells("view.cells.index('session_end_us')"))


def questions(text: str) -> Iterator[int]:
    """Lines that ask for a kind: isinstance, issubclass, a class pattern, a compared class, key or name."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]) if _names_in(asked):
                yield node.lineno
            case ast.Compare(left=left, comparators=others) if any(_is_kind(one) for one in (left, *others)):
                yield node.lineno
            case ast.Compare(left=left, comparators=others) if any(map(_tells_kind, (left, *others))):
                yield from (node.lineno for one in (left, *others) if _has_word(one))
            case ast.Match(subject=asked, cases=cases) if _tells_kind(asked) and any(map(_has_word, cases)):
                yield asked.lineno
            case ast.MatchClass(cls=asked) if _is_kind(asked):
                yield node.lineno


def foreign(text: str) -> Iterator[int]:
    """Lines that take more of a kind of window's module than its class, or ask a class for its cell."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ImportFrom(module=module, names=taken) if module in MODULES:
                yield from (node.lineno for alias in taken if alias.name != MODULES[module])
            case ast.Import(names=taken) if any(alias.name in MODULES for alias in taken):
                yield node.lineno
            case ast.Attribute(value=kind, attr="last_cell") if _is_kind(kind):
                yield node.lineno


def cells(text: str) -> Iterator[int]:
    """Lines that say what a kind of window calls a cell."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and node.value in CELLS:
            yield node.lineno


def _places(paths: Iterable[Path], lines: Callable[[str], Iterator[int]]) -> Iterator[str]:
    for path in paths:
        yield from (f"{path.relative_to(ROOT)}:{at}" for at in lines(path.read_text("utf-8")))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def _names_in(node: ast.expr) -> bool:
    return any(_is_kind(one) for one in ast.walk(node))


def _tells_kind(node: ast.expr) -> bool:
    """Whether it is what a thing calls its kind, or its class."""
    match node:
        case ast.Attribute(attr="key" | "__name__" | "__qualname__"):
            return True
        case ast.Call(func=ast.Attribute(value=said)):
            return _tells_kind(said)
    return False


def _has_word(node: ast.AST) -> bool:
    return any(
        _is_kind(one.value) if isinstance(one, ast.Attribute) else isinstance(one, ast.Constant) and one.value in WORDS
        for one in ast.walk(node)
    )


def _is_kind(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in NAMES
    return False
