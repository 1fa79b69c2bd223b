"""The source and the wheel of a commit: the same bytes whenever, and wherever, they are made."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
NOT_GITS = "no checkout of git, and a release is made of a commit: clone the repository, and make it there"
RUN_LOCK = "requirements.run.lock"
UMASK = 0o022
"""Files' modes are part of the archives' bytes, and would be of whoever makes them."""


class NotClean(Exception):
    """What lies in the checkout is not what is committed."""


class NoCommit(Exception):
    """There is nothing here that git knows."""


class Commit:
    """What is released: HEAD of a checkout without changes. Raises NotClean, NoCommit."""

    def __init__(self, checkout: Path = CHECKOUT) -> None:
        self.checkout = checkout
        self.id = self._head()
        if changed := self._git("status", "--porcelain"):
            raise NotClean(f"not committed, so no part of a release; commit or remove it first:\n{changed}")
        self.epoch = int(self._git("show", "--no-patch", "--format=%ct", "HEAD"))
        self.version: str = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["version"]

    def write_source(self, folder: Path) -> Path:
        """`flagfall-<version>.tar.gz`, of what is committed."""
        path = folder / f"{self._stem}.tar.gz"
        tar = subprocess.run(
            ["git", "-c", f"tar.umask={UMASK:04o}", "archive", "--format=tar", f"--prefix={self._stem}/", self.id],
            cwd=self.checkout,
            check=True,
            capture_output=True,
        ).stdout
        path.write_bytes(gzip.compress(tar, mtime=self.epoch))
        return path

    def write_wheel(self, folder: Path, source: Path) -> Path:
        """Built from the source archive, by this environment's own setuptools."""
        with tempfile.TemporaryDirectory() as made:
            with tarfile.open(source) as archive:
                archive.extractall(made, filter="data")
            uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
            command = [uv, "build", "--wheel", "--offline", "--no-build-isolation", f"--python={sys.executable}"]
            environment = os.environ | {"SOURCE_DATE_EPOCH": str(self.epoch)}
            built = [*command, f"--out-dir={made}/dist", str(Path(made, self._stem))]
            subprocess.run(built, check=True, capture_output=True, env=environment, umask=UMASK)
            (wheel,) = Path(made, "dist").glob("*.whl")
            return Path(shutil.copy(wheel, folder))

    def write_lock(self, folder: Path) -> Path:
        """`requirements.run.lock`: what the wheel runs with, each pinned with its hashes."""
        return Path(shutil.copyfile(self.checkout / RUN_LOCK, folder / RUN_LOCK))

    @property
    def _stem(self) -> str:
        return f"flagfall-{self.version}"

    def _head(self) -> str:
        try:
            top, head = self._git("rev-parse", "--show-toplevel"), self._git("rev-parse", "HEAD")
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            raise NoCommit(f"{self.checkout} is {NOT_GITS} ({said.splitlines()[0]})") from error
        if Path(top).resolve() != self.checkout.resolve():
            raise NoCommit(f"{self.checkout} is {NOT_GITS} ({top} is one)")
        return head

    def _git(self, *arguments: str) -> str:
        asked = subprocess.run(["git", *arguments], cwd=self.checkout, check=True, capture_output=True, text=True)
        return asked.stdout.strip()
