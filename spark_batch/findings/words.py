"""What verdicts and classes of differences mean, in the words of every report."""

from __future__ import annotations

from app.base.files.verdicts import Verdict
from app.domain.difference import DifferenceKind
from spark_batch.findings.completeness import Incomplete
from spark_batch.findings.third import OneSided

MEANING = {
    Verdict.MATCH: "every row of the tables is what the records in the topics make it",
    Verdict.MISMATCH: "the tables differ from what the records in the topics make them",
    Verdict.INCONCLUSIVE: "no statement about the tables: see the reason below, then run it again",
    Verdict.INVALID: "no statement about the tables: they cannot be recomputed",
}
OF_RECORDS = {
    DifferenceKind.LOST: "not applied",
    DifferenceKind.DOUBLED: "applied twice",
    DifferenceKind.LATE_APPLIED: "applied although late",
    DifferenceKind.LOGIC: "same records applied, and the worker's code makes other values of them",
    DifferenceKind.ALTERED: "same records applied, other values stored",
    DifferenceKind.STORE: "what is stored is not what was applied",
    DifferenceKind.UNNAMED: "unexplained",
}
OF_RESULTS = {
    DifferenceKind.LOST: "a result is not in the topic",
    DifferenceKind.DOUBLED: "a result is there twice",
    DifferenceKind.ALTERED: "a result is there with other values",
    DifferenceKind.UNNAMED: "a record is there that no result is",
}
OF_FINALS = {
    DifferenceKind.LOST: "its final was not published",
    DifferenceKind.DOUBLED: "its final was published twice, with other values",
    DifferenceKind.ALTERED: "its final has other values",
    DifferenceKind.UNNAMED: "a final of what no record gives",
}
OF_REPAIRED = {
    "again": "published again",
    "right": "right as published",
    "unclear": "left as published, wrong: which rows' faults are in it cannot be told",
}
"""Finals of windows whose rows are set right."""
OF_THIRD = {
    OneSided.HERE: "here alone; late there",
    OneSided.THERE: "there alone; late here, or before the view began",
}
OF_INCOMPLETE = {
    Incomplete.LATE: "came when the window had closed",
    Incomplete.QUARANTINED: "was refused for what was so then, and can be used today",
    Incomplete.DUPLICATE_INPUT: "the source sent it again: another record of its id counts",
    Incomplete.MOVED: "is in another row, because of one of the former",
}
