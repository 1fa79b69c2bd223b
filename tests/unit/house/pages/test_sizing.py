"""The page on sizes: what its program prints is what stands below it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[4] / "docs" / "sizing.md").read_text()
SHOWN = re.compile(r"```python\n(?P<program>.*?)```\n\nprints\n\n```text\n(?P<printed>.*?)```", re.DOTALL)


def test_the_program_prints_what_the_page_shows() -> None:
    (shown,) = SHOWN.finditer(PAGE)
    ran = subprocess.run([sys.executable, "-I", "-c", shown["program"]], capture_output=True, text=True, check=True)
    assert ran.stdout == shown["printed"]
