"""The Java parts, pinned: fetched once from Maven Central by jgo, compared with ``jars.sha256`` at every use.

jgo only warns when a checksum is wrong, and asks the server for it; the list beside this module is ours and
decides. A file enters the cache by rename after it was verified, so an interrupted fetch is continued by the
next one, and a lock makes a second process wait for the first instead of fetching the same.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.base.services.errors import JarError

LIST = Path(__file__).with_name("jars.sha256")
SETS = ("kafka", "registry", "spark")
CONNECT_SETS = ("connect", "connect-jdbc")
"""What Kafka Connect needs beside Kafka; fetched where somebody asks for it."""
BENCH_SET, FLINK_SET = "bench", "flink"
"""What the peers of `make bench-stream` need, Kafka Streams and Flink; nobody else fetches them."""
DOWNLOADS_AT_ONCE = 4
TIMEOUT_SECONDS = 60

OnProgress = Callable[[int], None]
"""Called with the number of bytes that came just now; from several threads."""


@dataclass(frozen=True)
class Pin:
    """One artefact, or the tree that an archive unpacks to (``unpacked``)."""

    set_name: str
    sha256: str
    size_bytes: int
    coordinate: str
    """``group:artifact:version[:packaging:classifier]``"""
    unpacked: bool = False

    @property
    def file_name(self) -> str:
        _, artifact, version, *rest = self.coordinate.split(":")
        packaging, classifier = rest or ("jar", "")
        stem = "-".join(filter(None, (artifact, version, classifier)))
        return stem if self.unpacked else f"{stem}.{packaging}"

    def path(self, cache_dir: Path) -> Path:
        return cache_dir / "jars" / self.set_name / self.file_name


@cache
def pins(set_name: str) -> tuple[Pin, ...]:
    """The committed list of one set, in its order. Raises KeyError for a set that there is not."""
    if set_name not in (known := (*SETS, *CONNECT_SETS, BENCH_SET, FLINK_SET)):
        raise KeyError(f"{set_name!r} is no jar set; there are {', '.join(known)}")
    found = []
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            sha256, size, of_set, coordinate, *unpacked = line.split()
            found.append(Pin(of_set, sha256, int(size), coordinate, bool(unpacked)))
    return tuple(pin for pin in found if pin.set_name == set_name)


def missing(set_name: str, cache_dir: Path) -> list[Pin]:
    """What :func:`fetch` would download: sizes tell how much. Looks at names only, not at contents."""
    wanted = pins(set_name)
    if any(pin.unpacked and pin.path(cache_dir).is_dir() for pin in wanted):
        return []
    return [pin for pin in wanted if not pin.unpacked and not pin.path(cache_dir).exists()]


def fetch(set_name: str, cache_dir: Path, progress: OnProgress | None = None) -> list[Path]:
    """Bring a set into the cache, and verify it; returns its files (for ``registry`` the one unpacked
    directory).

    With everything there, the network is not touched. Raises JarError.
    """
    folder = cache_dir / "jars" / set_name
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / ".lock"), ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
        list(pool.map(lambda pin: _download(pin, cache_dir, progress), missing(set_name, cache_dir)))
        for tree in filter(lambda pin: pin.unpacked, pins(set_name)):
            _unpack(tree, cache_dir)
    return jar_paths(set_name, cache_dir)


def jar_paths(set_name: str, cache_dir: Path) -> list[Path]:
    """The files of a set that is in the cache, each compared with its sha256.

    Raises JarError if one is missing or has other bytes; a wrong one is named and must be deleted by hand,
    because it may be the trace of something worth knowing.
    """
    wanted = [pin for pin in pins(set_name) if pin.unpacked] or list(pins(set_name))
    paths = [pin.path(cache_dir) for pin in wanted]
    for pin, path in zip(wanted, paths, strict=True):
        if not path.exists():
            raise JarError(f"{path} is missing: `flagfall services fetch` brings it")
        found = tree_sha256(path) if pin.unpacked else file_sha256(path)
        if found != pin.sha256:
            raise JarError(
                f"{path} is not {pin.coordinate} as pinned: sha256 {found}, expected {pin.sha256}. "
                f"Delete it to have it fetched again; if it comes back the same, do not run it."
            )
    return paths


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_sha256(folder: Path) -> str:
    """One sum for a directory: over its files' relative names and their sums, sorted by name."""
    files = sorted(path for path in folder.rglob("*") if not path.is_dir())
    with ThreadPoolExecutor() as pool:
        sums = list(pool.map(file_sha256, files))
    lines = (f"{one}  {path.relative_to(folder).as_posix()}\n" for one, path in zip(sums, files, strict=True))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _download(pin: Pin, cache_dir: Path, progress: OnProgress | None) -> None:
    """Fetch one file into a directory of its own, verify it there, then rename it to its place."""
    from jgo.maven import MavenContext, PythonResolver

    @contextlib.contextmanager
    def report(name: str, size: int) -> Iterator[OnProgress]:
        yield progress or (lambda count: None)

    group, artifact, version, *rest = pin.coordinate.split(":")
    packaging, classifier = rest or ("jar", "")
    target = pin.path(cache_dir)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as repository:
        context = MavenContext(
            PythonResolver(progress_callback=report),
            Path(repository),
            local_repos=[],
            timeout=TIMEOUT_SECONDS,
        )
        component = context.project(group, artifact).at_version(version)
        try:
            file = component.artifact(classifier=classifier, packaging=packaging).resolve()
        except Exception as error:  # jgo and requests raise many kinds, all meaning this
            raise JarError(f"{pin.coordinate} could not be fetched from Maven Central: {error}") from error
        if (found := file_sha256(file)) != pin.sha256:
            raise JarError(
                f"{pin.coordinate} came with sha256 {found}, pinned is {pin.sha256}: nothing was "
                f"kept. Try again; if it repeats, something between here and Maven Central changes files."
            )
        file.replace(target)


def _unpack(tree: Pin, cache_dir: Path) -> None:
    """Unpack an archive beside itself, then drop it: the tree has a sum of its own."""
    target = tree.path(cache_dir)
    archive = next(pin for pin in pins(tree.set_name) if not pin.unpacked and pin.coordinate == tree.coordinate)
    if target.is_dir():
        return
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unpack-") as folder:
        with tarfile.open(archive.path(cache_dir)) as tar:
            tar.extractall(Path(folder, "tree"), filter="data")
        shutil.move(Path(folder, "tree"), target)
    archive.path(cache_dir).unlink()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
