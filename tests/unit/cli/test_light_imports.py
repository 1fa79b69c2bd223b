"""What must stay light: definitions and codecs load no engine (Spark's executors and `--help` import them)."""

from __future__ import annotations

import importlib.util
import pkgutil
import subprocess
import sys

import pytest

import app.codecs
import app.domain

ENGINES = ("faust", "aiokafka", "pyspark", "confluent_kafka", "aiohttp")
COLUMNS = ("polars", "numpy", "pyarrow", "pandas")
COMPILER = ("numba", "llvmlite")


def modules_of(package: object) -> list[str]:
    path, name = package.__path__, package.__name__  # type: ignore[attr-defined]
    return [module.name for module in pkgutil.walk_packages(path, f"{name}.")]


def loaded_by(imported: list[str], unwanted: tuple[str, ...]) -> str:
    """Which of the unwanted packages a fresh interpreter has loaded after these imports."""
    code = f"import sys, {', '.join(imported)}; print(*sorted(set({unwanted!r}) & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return ran.stdout.strip()


def test_the_domain_is_the_standard_library_only() -> None:
    """It imports neither Faust nor PySpark nor Polars: any engine can be held against it."""
    assert "app.domain.oracle.view_fold" in modules_of(app.domain)
    assert loaded_by(modules_of(app.domain), ENGINES + COLUMNS) == ""


def test_rides_and_views_are_the_standard_library_only() -> None:
    assert loaded_by(["app.rides.ride", "app.rides.views"], ENGINES + COLUMNS) == ""


@pytest.mark.parametrize(
    "package",
    ["app.edge.cli.main", "app.rides.produce", "spark_batch.source.read_source", "spark_batch.source.decode_avro"],
)
def test_only_the_worker_loads_a_compiler(package: str) -> None:
    """It takes a second, and whoever replays, asks or recomputes has no use for it."""
    assert loaded_by([package], COMPILER) == ""


def test_answering_loads_no_pandas() -> None:
    """Arrow imports it, for half a second, as soon as it is handed a list or an array."""
    rows = "state.ViewState(v).select()"
    answer = f"record_batch(v, *{rows}[:3]), page_table(RowsQuery(v), {rows}, 0, no_names(), [], None, {{}})"
    code = f"""import sys, app.edge.worker
from app.codecs.stored.export import record_batch
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.tabular.page_table import page_table
from app.edge.http.zone_names import no_names
from app.engine.core.rows import state
from app.rides.views import VIEWS
for v in VIEWS: {answer}
print("pandas" in sys.modules)"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "False"


def test_codecs_load_no_engine() -> None:
    assert loaded_by(modules_of(app.codecs), ENGINES) == ""


@pytest.mark.parametrize("package", ENGINES + COLUMNS + COMPILER)
def test_what_must_not_be_loaded_is_there_to_be_loaded(package: str) -> None:
    """Else a misspelt name would pass for light for ever."""
    assert package in sys.modules or importlib.util.find_spec(package) is not None  # Faust, once loaded, has no spec
