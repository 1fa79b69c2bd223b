"""Runs a benched worker as `flagfall worker` runs one: python -m benchmarks.stream.run_worker ENVIRONMENT.json"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main(path: str) -> None:
    """`path`: environment variables as JSON."""
    os.environ.update(json.loads(Path(path).read_text()))
    import mode.loop

    mode.loop.use("uvloop")
    from faust.cli.faust import cli

    arguments = ["-A", "benchmarks.stream.worker_app", "--quiet", "worker", "-l", "info"]
    cli.main(arguments, prog_name="flagfall")


if __name__ == "__main__":
    main(sys.argv[1])
