"""How an answer arranges rows: by which groups they are summed up, which are highest, what of them is shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.domain.measures.parts import COUNT
from app.domain.view import Group, View
from app.edge.http.problems import bad_parameter
from app.edge.http.query.parameters import Parameters, choice, chosen, one, whole_number

NO_GROUP = "none"
"""What `group_by` says for one row a window."""
MAX_TOP = 1_000


class Among(StrEnum):
    """Which rows are ranked together."""

    WINDOW = "window"
    GROUP = "group"
    ALL = "all"


@dataclass(frozen=True)
class Ranking:
    """The `top` rows that are highest `by` a value, `among` those of each window, of each group, or all."""

    top: int
    by: str
    among: Among = Among.WINDOW


@dataclass(frozen=True)
class Arrangement:
    """`kept` are the groups that rows keep, the others are merged; None keeps all. `shown` are the measures and
    figures that are told, all if it is empty."""

    kept: tuple[str, ...] | None = None
    ranking: Ranking | None = None
    shown: tuple[str, ...] = ()

    def groups_of(self, view: View) -> tuple[Group, ...]:
        """The groups of the view that its rows keep."""
        return tuple(view.groups[at] for at in self.places_in(view))

    def places_in(self, view: View) -> tuple[int, ...]:
        """Where among the view's groups those are."""
        return tuple(at for at, group in enumerate(view.groups) if self.kept is None or group.name in self.kept)

    @property
    def takes_all(self) -> bool:
        """Whether a page takes all rows of its windows, as they are ranked, or made of others."""
        return self.kept is not None or self.ranking is not None

    @property
    def orders_windows(self) -> bool:
        """Whether rows come by window, which `order` then is about."""
        return self.ranking is None or self.ranking.among is Among.WINDOW

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters from which it is read again."""
        told = [("group_by", name) for name in (() if self.kept is None else self.kept or (NO_GROUP,))]
        if self.ranking is not None:
            told += [("top", str(self.ranking.top)), ("by", self.ranking.by), ("among", self.ranking.among)]
        return [*told, *(("measures", name) for name in self.shown)]


AS_STORED = Arrangement()
"""Every group, in order, with all that there is of it."""


def read_arrangement(view: View, parameters: Parameters) -> Arrangement:
    """What the parameters ask for."""
    shown = chosen(parameters, "measures", tuple(shown_names(view)))
    return Arrangement(_kept(view, parameters), _ranking(view, parameters), shown)


def shown_names(view: View) -> list[str]:
    """What a row shows, measures and figures."""
    return [*(shown.name for shown in view.shown), *(figure.name for figure in view.figures)]


def ranking_names(view: View) -> list[str]:
    """What rows can be ranked by: what is one number, and first of all how many records they have."""
    shown = (one.name for one in view.shown if not one.is_list)
    figures = (figure.name for figure in view.figures if figure.is_number)
    return list(dict.fromkeys((COUNT.name, *shown, *figures)))


def among_which(view: View) -> tuple[Among, ...]:
    """Among which rows some can be ranked, the usual first; rows that records make share no window with others."""
    shared = (Among.WINDOW,) if view.window.ends and not view.window.merges else ()
    return (*shared, Among.ALL, Among.GROUP)


def _kept(view: View, parameters: Parameters) -> tuple[str, ...] | None:
    names = tuple(group.name for group in view.groups)
    given = chosen(parameters, "group_by", (*names, NO_GROUP))
    if not given:
        return None
    if NO_GROUP in given and len(given) > 1:
        raise bad_parameter("group_by", NO_GROUP, f"{NO_GROUP} alone, or some of {', '.join(names)}")
    kept = tuple(name for name in given if name != NO_GROUP)
    return None if kept == names else kept


def _ranking(view: View, parameters: Parameters) -> Ranking | None:
    top = whole_number(parameters, "top", MAX_TOP)
    if top is None:
        for name in ("by", "among"):
            if (given := one(parameters, name)) is not None:
                raise bad_parameter(name, given, "only with top, which says how many")
        return None
    by = choice(parameters, "by", tuple(ranking_names(view)))
    among = Among(choice(parameters, "among", among_which(view)))
    if among is not Among.WINDOW and (given := one(parameters, "order")) is not None:
        raise bad_parameter("order", given, f"not with among={among}: the highest comes first")
    return Ranking(top, by, among)
