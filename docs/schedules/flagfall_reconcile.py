"""A night as an Airflow 3 DAG: what may have changed since the last run, and again where there is no verdict."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta

from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import dag, task

MATCH, INCONCLUSIVE = 0, 11


@dag(schedule="17 3 * * *", start_date=datetime(2024, 1, 1), catchup=False, max_active_runs=1, tags=["flagfall"])
def flagfall_reconcile() -> None:
    @task(retries=4, retry_delay=timedelta(minutes=15), execution_timeout=timedelta(hours=6))
    def reconcile() -> None:
        code = subprocess.run(["flagfall", "reconcile", "--since", "last"], check=False).returncode
        if code == INCONCLUSIVE:
            raise AirflowException("INCONCLUSIVE: not ready or too slow; again in a quarter of an hour")
        if code != MATCH:
            raise AirflowFailException(f"exit code {code}: the run's report says what differs, or why it is INVALID")

    reconcile()


flagfall_reconcile()
