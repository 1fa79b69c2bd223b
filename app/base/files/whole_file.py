"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def write_whole(file: Path, content: bytes, *, is_private: bool = False) -> None:
    """Put `content` where `file` is, by rename: a reader sees what was there before, or all of it.

    Anybody may read it; where it `is_private` those who could read what was there, of a new one its owner alone.
    OSError where the owner of what was there is another, to whom it cannot be given.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".", delete=False) as temporary:
        temporary.write(content)
        temporary.flush()
        os.fsync(temporary.fileno())
    written = Path(temporary.name)
    try:
        if is_private:
            _keep_readers(file, written)
        else:
            written.chmod(0o644)
        written.replace(file)
    except OSError:
        written.unlink(missing_ok=True)
        raise


def _keep_readers(file: Path, written: Path) -> None:
    """A temporary file is its owner's alone."""
    if file.exists():
        held = file.stat()
        os.chown(written, held.st_uid, held.st_gid)
        written.chmod(stat.S_IMODE(held.st_mode))
