"""The tests' Spark cluster: when it is taken for ready."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.support.clusters import standalone
from tests.support.clusters.standalone import WORKERS, SparkCluster

STATUS_PAGE = httpx.Response(200, text="<!DOCTYPE html><html></html>")


@pytest.mark.parametrize(
    ("answer", "ready"),
    [
        (STATUS_PAGE, False),
        (httpx.Response(200, json={"aliveworkers": WORKERS - 1}), False),
        (httpx.Response(200, json={"aliveworkers": WORKERS}), True),
    ],
    ids=["its JSON is not attached yet", "a worker is missing", "all workers are known"],
)
def test_a_master_that_is_starting_is_not_ready(
    answer: httpx.Response, ready: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkCluster, "_start", lambda *_: None)
    monkeypatch.setattr(standalone.httpx, "get", lambda *_, **__: answer)
    assert SparkCluster(tmp_path).is_ready() is ready
