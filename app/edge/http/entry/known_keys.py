"""The keys of a worker, as their file has them now."""

from __future__ import annotations

import logging
from pathlib import Path

from app.base.files.keys import Key, KeysUnusable, NoKeysFile, key_of, read_keys

log = logging.getLogger(__name__)


class KnownKeys:
    """Those of a file. KeysUnusable when it is made, where the file cannot be used.

    One that is spoilt later is told in the log, and the keys from before go on to count. One that is gone opens
    nothing: it is replaced by rename, which leaves no gap, so somebody took it away.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._stamp = file, _stamp_of(file)
        self._keys = read_keys(file)

    def opened_by(self, token: str) -> Key | None:
        """The key that a token opens; None if it opens none, or none any more."""
        return key_of(self._keys, token)

    def named(self, key: Key) -> Key | None:
        """What has become of a key: with the same secret, until it ends."""
        now = self._keys.get(key.name)
        return now if now is not None and now.sha256 == key.sha256 and not now.has_ended() else None

    def look(self) -> None:
        """Read the file again if it has changed."""
        stamp = _stamp_of(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._keys = read_keys(self._file)
        except NoKeysFile as error:
            self._keys = {}
            log.error("%s; until it is there again no key counts", error)
        except KeysUnusable as error:
            log.error("%s; the keys from before go on to count", error)
        else:
            log.info("keys are read again: %s", ", ".join(self._keys) or "there are none")


def _stamp_of(file: Path) -> tuple[int, int] | int | None:
    """Of another file, or of another reason why there is none, it is another."""
    try:
        held = file.stat()
    except OSError as error:
        return error.errno
    return held.st_mtime_ns, held.st_ino
