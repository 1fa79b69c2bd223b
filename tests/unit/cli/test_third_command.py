"""`flagfall third` and `reconcile --third`: what is refused before anything is begun."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from app.edge.cli.main import cli


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["third", "zone_demands"], "no view 'zone_demands'"),
        (
            ["third", "vendor_trips"],
            "vendor_trips: windows of all time; what can be kept so are windows that follow one",
        ),
        (["third", "zone_demand", "--every", "nan"], "nan is not in the range 0.001<=x<=86400"),
        (["third", "zone_demand", "--every", "inf"], "inf is not in the range 0.001<=x<=86400"),
        (["third", "zone_demand", "--every", "1e-9"], "1e-09 is not in the range 0.001<=x<=86400"),
        (["reconcile", "--third"], "yet: `flagfall third zone_demand` begins one"),
        (["reconcile", "--third", "--view", "vendor_trips"], "Spark's stream can keep none"),
    ],
)
def test_a_third_opinion_that_there_cannot_be_is_refused_in_words(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    result = CliRunner().invoke(cli, arguments, env={"FLAGFALL_DATA_DIR": str(tmp_path)})
    assert result.exit_code == 2
    assert words in result.output
