"""The examples of the pages on the kit, joins and alerts run as they stand, in a project that is not this one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
FENCED = re.compile(r"^```python\n# (?P<name>\w+\.py)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "tests"), [("testkit.md", 3), ("joins.md", 1)])
def test_the_examples_pass_in_a_project_of_their_own(page: str, tests: int, tmp_path: Path) -> None:
    files = {found["name"]: found["code"] for found in FENCED.finditer((DOCS / page).read_text())}
    assert sum(name.startswith("test_") for name in files) == tests
    for name, code in files.items():
        (tmp_path / name).write_text(code)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout
