"""From differing rows to the records that cause them: Spark finds records and folds, `app.domain.naming` names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame

from app.domain.difference import ComparedRow
from app.domain.naming.clusters import RowClusters, clustered
from app.domain.naming.evidence import Translator
from app.domain.naming.gathered import NamedRun, gathered
from app.domain.naming.named import name_rows
from app.domain.naming.row_difference import RowDifference
from spark_batch.findings.cluster_evidence import ClusterEvidence
from spark_batch.findings.evidence import SparkEvidence
from spark_batch.folds.recount import Recount


class Explained(NamedTuple):
    """Differences row by row, and the records of all of them as runs."""

    differences: list[RowDifference]
    runs: list[NamedRun]


def explain(
    recount: Recount, stored: DataFrame, differing: Sequence[ComparedRow], translator: Translator | None = None
) -> Explained:
    """Every difference of the given rows, named as far as it can be; of rows that merge, by their clusters.

    `stored`: what the changelog holds at the cut. `translator`: the worker's own, if it is known.
    """
    evidence, view = SparkEvidence(recount, stored, translator), clustered(recount.view)
    if recount.view.window.merges:
        clusters = RowClusters(recount.view, differing)
        evidence, differing = ClusterEvidence(recount, stored, translator, clusters), clusters.all
    found = name_rows(view, differing, evidence)
    return Explained(found, gathered(view, found, evidence))
