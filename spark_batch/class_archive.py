"""Where the classes are kept that Java begins a session with; `spark_batch.rehearsal` makes them."""

from __future__ import annotations

from pathlib import Path

import pyspark

from app.base.services.class_archives import ClassArchive
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.settings import Settings

NAME = "spark"
OWN_JARS = Path(pyspark.__file__).parent / "jars"
"""Which Java's class path names; those of `fetch` come to it later."""


def class_archive(settings: Settings) -> ClassArchive:
    """Of a session on this machine, whether made or not. Raises JarError, JavaNotFound."""
    jars = sorted(OWN_JARS.glob("*.jar")) + list(fetch(NAME, settings.cache_dir))
    return ClassArchive(NAME, find_java(), ":".join(map(str, jars)), settings.cache_dir)
