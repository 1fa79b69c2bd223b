"""A database's address, `postgresql://user@host:port/name`, of which libpq and Java's driver must make the same."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from app.domain.errors import FlagfallError

KNOWN_TO_BOTH = ("sslmode", "sslrootcert", "options")
"""Parameters that mean the same to libpq and to Java's driver, none of them a secret, and none says who asks whom."""
EXAMPLE = "postgresql://user@127.0.0.1:5432/name"


class WrongAddress(FlagfallError):
    """It cannot be given to both; the text says why, without a value of it."""


def require_address(database: str) -> None:
    """Raises WrongAddress for one that connector and `connect check` would take for two, or that tells a secret."""
    told = _split(database)
    if told.password is not None:
        raise WrongAddress("a password does not belong on a command line: set PGPASSWORD")
    if not (told.hostname and told.path.strip("/") and told.port != 0):
        raise WrongAddress(f"host or name is missing; one is {EXAMPLE}")
    if not told.username:
        raise WrongAddress(f"it names no user, who would be another for the connector than here; one is {EXAMPLE}")
    if told.fragment:
        raise WrongAddress("what stands behind # would be lost: # of a name is written %23")
    for name, _ in parse_qsl(told.query, keep_blank_values=True):
        if name not in KNOWN_TO_BOTH:
            raise WrongAddress(
                f"{name!r} is no parameter that it may have: these are {', '.join(KNOWN_TO_BOTH)}, as a connector's "
                "configuration holds them for all to read; a password is read from PGPASSWORD"
            )


def user(database: str) -> str:
    """Whom connector and `connect check` come as."""
    return unquote(_split(database).username or "")


def jdbc_url(database: str) -> str:
    """Java's notation, without the user; both escape the name alike."""
    told = _split(database)
    host = f"[{told.hostname}]" if ":" in (told.hostname or "") else told.hostname
    port = f":{told.port}" if told.port else ""
    query = f"?{told.query}" if told.query else ""
    return f"jdbc:postgresql://{host}{port}{told.path}{query}"


def _split(database: str) -> SplitResult:
    wrong = WrongAddress(f"it is none; one is {EXAMPLE}")
    try:
        told = urlsplit(database)
        _ = told.port
    except ValueError as error:  # of the port, or of an address in brackets
        raise wrong from error
    if told.scheme not in ("postgresql", "postgres"):
        raise wrong
    return told
