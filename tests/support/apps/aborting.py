"""A worker whose process aborts if it runs C exit handlers: `faust -A tests.support.apps.aborting`.

OpenSSL's is one of them: whether it meets a thread of librdkafka that greets a broker is chance, this is not.
"""

from __future__ import annotations

import ctypes

from app.base.settings import Settings
from app.edge.worker import create_catalogue_worker

libc = ctypes.CDLL(None)
libc.on_exit(libc.abort, None)

app = create_catalogue_worker(Settings.load())
