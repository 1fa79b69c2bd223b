"""`flagfall rights`: who may do what in Kafka."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import click

from app.edge.cli.common import bootstrap_option, echo_json, echo_table, json_option, load_catalogue, load_settings
from app.rights import ROLES, KafkaRole

if TYPE_CHECKING:
    from app.base.kafka.acls import Acl
    from app.base.settings import Settings

ROLES_TOLD = "\n".join(f"{role:<10} {told}" for role, told in ROLES.items())
FACTS = ("user", "finding", "operation", "resource", "name")
role_argument = click.argument("role", type=click.Choice([role.value for role in KafkaRole]))
PRINCIPAL = "User:"
"""What authorizers put before a user's name."""
HAS, HAS_AS_ALL = "has, too", "has, as everybody"


def _each_one_user(context: click.Context, parameter: click.Parameter, users: tuple[str, ...]) -> tuple[str, ...]:
    """What was given to such names before can still be shown and taken."""
    from app.base.kafka.acls import EVERYBODY

    for user in users:
        bare = user.removeprefix(PRINCIPAL)
        if not bare.strip():
            raise click.BadParameter("a user without a name: say who comes in, as FLAGFALL_KAFKA_SASL_USERNAME does.")
        if bare == EVERYBODY:
            raise click.BadParameter(f"`{EVERYBODY}` is everybody for Kafka: name each user who has the role.")
        if bare != user:
            raise click.BadParameter(f"name the user as {bare!r}: Kafka's `{PRINCIPAL}` is put before it.")
    return users


users_argument = click.argument("users", nargs=-1, required=True, metavar="USER...")
named_users_argument = click.argument("users", nargs=-1, required=True, metavar="USER...", callback=_each_one_user)


@click.group(epilog=f"\b\nRoles\n{ROLES_TOLD}")
def command() -> None:
    """Show, give and compare the rights that each role needs in Kafka, and no more (docs/rights.md).

    \b
    flagfall rights list worker
    flagfall rights grant worker worker-2026     as who may alter the cluster
    flagfall rights check worker worker-2026     as who may describe it
    flagfall rights revoke worker worker-2025    as who may alter it
    """


@command.command("list")
@role_argument
@json_option
def list_rights(role: str, as_json: bool) -> None:
    """What a role needs, and why; asks no broker.

    \b
    flagfall rights list reader
    """
    needed, _ = _needed(role)
    if as_json:
        return echo_json([{**acl._asdict(), "why": why} for acl, why in needed.items()])
    rows = [(acl.operation.value, acl.resource.value, _shown(acl), why) for acl, why in needed.items()]
    echo_table(("MAY", "ON", "NAMED", "WHY"), rows)


@command.command()
@role_argument
@named_users_argument
@bootstrap_option
def grant(role: str, users: tuple[str, ...], bootstrap_server: str | None) -> None:
    """Give users what a role needs; what they have besides stays. Ask as who may alter the cluster.

    \b
    flagfall rights grant worker worker-2026
    """
    from app.base.kafka import acls

    needed, settings = _needed(role, bootstrap_server)
    acls.require(settings.kafka, acls.Operation.ALTER)
    for user in users:
        there, _ = acls.held(settings.kafka, user)
        acls.grant(settings.kafka, user, [acl for acl in needed if acl not in there])
        click.echo(f"{user} has the {len(needed)} rights of {role}; {len(needed.keys() - there)} of them are new")


@command.command()
@role_argument
@users_argument
@bootstrap_option
def revoke(role: str, users: tuple[str, ...], bootstrap_server: str | None) -> int:
    """Take from users what a role needs, though another role of theirs may need some of it, too; exit 1 if wider
    entries, or everybody's, still give them some. Ask as who may alter the cluster.

    \b
    flagfall rights revoke worker worker-2025
    """
    from app.base.kafka import acls

    needed, settings = _needed(role, bootstrap_server)
    acls.require(settings.kafka, acls.Operation.ALTER)
    kept = 0
    for user in users:
        (there, others), (everybody, others_of_all) = _held(settings, user)
        gone = needed.keys() & there
        acls.revoke(settings.kafka, user, gone)
        still = len(needed) - len(acls.beyond(needed, (there - gone) | everybody))
        has = f"still has {still} of the {len(needed)} rights of {role}, by wider entries or everybody's (`User:*`)"
        stay = f"; {others + others_of_all} entries of other kinds stay" if others + others_of_all else ""
        told = has if still else f"has none of the rights of {role}"
        click.echo(f"{user} {told}; {len(gone)} of them are gone{stay}")
        kept += still
    return int(kept > 0)


@command.command()
@role_argument
@users_argument
@bootstrap_option
@json_option
def check(role: str, users: tuple[str, ...], bootstrap_server: str | None, as_json: bool) -> int:
    """What users lack of a role, and what they have beyond it, as everybody, too; exit 1 unless all have exactly that.
    Ask as who may describe the cluster.

    \b
    flagfall rights check worker worker-2026
    """
    needed, settings = _needed(role, bootstrap_server)
    lines = [line for user in users for line in _compared(settings, needed, user)]
    if as_json:
        echo_json([dict(zip(FACTS, line, strict=True)) for line in lines])
    elif lines:
        echo_table(("USER", "", "MAY", "ON", "NAMED"), lines)
    else:
        click.echo(f"{', '.join(users)}: exactly the rights of {role}")
    return int(bool(lines))


def _compared(settings: Settings, needed: Collection[Acl], user: str) -> Iterator[tuple[str, ...]]:
    """What is told of a user, under the names of FACTS."""
    from app.base.kafka.acls import beyond

    (own, others), (everybody, others_of_all) = _held(settings, user)
    more, more_of_all = beyond(own, needed), beyond(everybody, needed)
    for word, some in (("lacks", beyond(needed, own | everybody)), (HAS, more), (HAS_AS_ALL, more_of_all)):
        for acl in some:
            yield user, word, acl.operation.value, acl.resource.value, _shown(acl)
    for word, count in ((HAS, others), (HAS_AS_ALL, others_of_all)):
        if count:
            yield user, word, f"{count} entries of other kinds", "", ""


def _held(settings: Settings, user: str) -> tuple[tuple[set[Acl], int], tuple[set[Acl], int]]:
    """By entries of its own; by those of everybody."""
    from app.base.kafka.acls import EVERYBODY, held

    own = held(settings.kafka, user)
    return own, (set(), 0) if user == EVERYBODY else held(settings.kafka, EVERYBODY)


def _needed(role: str, bootstrap_server: str | None = None) -> tuple[dict[Acl, str], Settings]:
    from app.rights import rights

    settings = load_settings(bootstrap_server)
    return rights(settings, load_catalogue(settings), KafkaRole(role)), settings


def _shown(acl: Acl) -> str:
    return f"{acl.name}*" if acl.is_prefix else acl.name
