"""What authors write of licences, in SPDX's words, and what may come by which way."""

from __future__ import annotations

import pytest

from scripts.release.licences import LicenceUnknown, licence, refused
from scripts.release.part import Part, Reach
from scripts.release.wheels import wheels

EPL_OR_GPL = "EPL-2.0 OR GPL-2.0-only WITH Classpath-exception-2.0"


def part(*told: str | tuple[str, ...], name: str = "some", reach: Reach = Reach.SHIPPED) -> Part:
    """With each description's words; several in brackets."""
    choices = tuple((one,) if isinstance(one, str) else one for one in told)
    return Part(name, "1", f"pkg:generic/{name}@1", reach, choices)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([("EPL-2.0", "GPL-2.0-with-classpath-exception"), ("legal/epl-2.0", "classpath/license.html")], EPL_OR_GPL),
        ([("Public Domain", "MIT"), "Apache"], "Apache-2.0 AND (LicenseRef-Public-Domain OR MIT)"),
        (["Apache-2.0 OR BSD-3-Clause"], "Apache-2.0 OR BSD-3-Clause"),
        (["The Apache Software License, Version 2.0", "https://www.apache.org/licenses/LICENSE-2.0"], "Apache-2.0"),
        (["EPL-2.0", "https://www.gnu.org/software/classpath/license.html"], EPL_OR_GPL.replace("OR", "AND")),
        (["OSI Approved :: MIT License", "MIT"], "MIT"),
        (["Eclipse Distribution License v. 1.0"], "BSD-3-Clause"),
        (["CDDL + GPLv2 with classpath exception"], "CDDL-1.1 OR GPL-2.0-only WITH Classpath-exception-2.0"),
    ],
)
def test_words_of_authors_become_expressions(told: list[str | tuple[str, ...]], expected: str) -> None:
    assert licence(part(*told)) == expected


def test_what_a_part_holds_of_others_is_no_choice_though_its_description_lists_it() -> None:
    found = licence(part(("EPL 2.0", "classpath", "Modified BSD", "Apache"), name="jersey-server"))
    assert found == f"Apache-2.0 AND BSD-3-Clause AND ({EPL_OR_GPL})"


def test_a_part_that_says_nothing_is_known_by_its_name() -> None:
    assert licence(part(name="vertx-core")) == "Apache-2.0 OR EPL-2.0"


@pytest.mark.parametrize("unknown", [part("all rights reserved"), part(name="nobody-knows-it")])
def test_what_no_line_knows_is_told_of_and_not_guessed(unknown: Part) -> None:
    with pytest.raises(LicenceUnknown, match=unknown.name):
        licence(unknown)


def test_of_a_choice_one_is_enough_and_of_what_holds_together_each_counts() -> None:
    choice, both = "MIT OR AGPL-3.0-only", "MIT AND AGPL-3.0-only"
    assert refused([(part(), choice)]) == []
    assert len(refused([(part(), both)])) == 1


def test_what_may_be_fetched_may_not_therefore_be_shipped() -> None:
    oracle = "LicenseRef-Oracle-Free-Use"
    assert refused([(part(reach=Reach.FETCHED), oracle)]) == []
    assert len(refused([(part(), oracle)])) == 1


def test_every_wheel_that_runs_is_under_a_licence_that_lets_it_be_shipped() -> None:
    found = wheels()
    assert {"pyspark", "faust-streaming", "psycopg", "uv", "wheel"} <= {one.name for one in found}
    assert refused((one, licence(one)) for one in found) == []


def test_what_only_tests_need_is_no_part_of_a_release() -> None:
    assert not {"pytest", "mypy", "kubernetes-validate"} & {one.name for one in wheels()}
