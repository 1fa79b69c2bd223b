"""A table below `[sources.<name>.rules]` as rules of cleanliness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from keyword import iskeyword
from typing import Any

from app.definitions.shapes import Problems, Shape, fitted, tables
from app.domain.cleanliness.rule import Rule, rule_problems
from app.domain.source import Action, Column


class RuleShape(Shape):
    """`[sources.<name>.rules]`, one of them."""

    action: Action
    when: str
    help: str = ""


def read_rules(given: Any, asked: Mapping[str, Column], place: str, problems: Problems) -> list[Rule]:
    """The rules, and stand-ins for those that are not right, so that views over them can be checked.

    `asked` are the columns that they may ask about.
    """
    rules, askable = [], next((name for name in asked if name.isidentifier() and not iskeyword(name)), "")
    for name, told in tables(given, place, problems).items():
        values = fitted(RuleShape, told, f"{place}.{name}", problems)
        found = Rule(name, values.get("action", Action.MARK), values.get("when", ""), values.get("help", ""))
        if "when" in values and (wrong := list(rule_problems(found, asked))):
            problems.note(f"{place}.{name}.when", *wrong)
        elif "when" in values:
            rules.append(found)
            continue
        rules += stand_ins([found], askable)
    return rules


def stand_ins(rules: Sequence[Rule], column: str) -> list[Rule]:
    """Rules of the same names that ask only about this column; none if there is none."""
    return [replace(rule, when=f"{column} is null") for rule in rules if column]
