"""Which compiled loops are kept on disk for the next process: told without importing or compiling any.

Read from numba's own index files, as numba finds them; `app.codecs.compiled` says where they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from numba.core import caching
from numba.core.registry import cpu_target

import app
from app.codecs.compiled import compiled

TO_COMPILE = 'python -c "import app.edge.worker"'
"""The command that compiles all of them; `make setup` runs it."""


class KeptLoops(NamedTuple):
    """So many of all loops are kept for this version, Python and processor; `place` None: nowhere can be written."""

    kept: int
    all: int
    place: Path | None

    @property
    def what_to_do(self) -> str:
        """So that no worker has to compile at its start."""
        if self.place is None:
            return "Set NUMBA_CACHE_DIR to a directory that can be written; else every worker compiles them anew."
        return f"`{TO_COMPILE}` compiles them ahead, for the user and the NUMBA_CACHE_DIR that workers have."


class _Loop(NamedTuple):
    file: Path
    name: str
    line: int


def kept_loops() -> KeptLoops:
    """As of now. Makes the directories in which they would be kept, as numba asks whether it can write."""
    loops = list(_loops())
    try:
        found = [_in_cache(loop) for loop in loops]
    except (RuntimeError, OSError):
        return KeptLoops(0, len(loops), None)
    package = Path(found[0].locator.get_cache_path())
    in_tree = package.name == "__pycache__"
    return KeptLoops(sum(map(_is_kept, found)), len(loops), _package() if in_tree else package.parent)


def _package() -> Path:
    return Path(*app.__path__)


def _loops() -> Iterator[_Loop]:
    called = f"@{compiled.__name__}("
    for file in sorted(_package().rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if called not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and any(map(_compiles, node.decorator_list)):
                yield _Loop(file, node.name, node.decorator_list[0].lineno)


def _compiles(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == compiled.__name__


def _stand_in(loop: _Loop) -> FunctionType:
    """What numba names its files after."""
    code = _stand_in.__code__.replace(
        co_filename=str(loop.file), co_firstlineno=loop.line, co_name=loop.name, co_qualname=loop.name
    )
    return FunctionType(code, {}, loop.name)


def _in_cache(loop: _Loop) -> Any:
    """Where numba looks for its code; RuntimeError where it can write nowhere."""
    made: Any = caching.CompileResultCacheImpl
    return made(_stand_in(loop))


def _is_kept(found: Any) -> bool:
    """Whether the index is of this source and names code for this processor that is there."""
    index: Any = caching.IndexDataCacheFile
    folder, stamp = Path(found.locator.get_cache_path()), found.locator.get_source_stamp()
    files = index(str(folder), found.filename_base, stamp)._load_index()
    processor = cpu_target.target_context.codegen().magic_tuple()
    return any(made_for == processor and (folder / name).exists() for (_, made_for, _), name in files.items())
