"""The rule that subjects are held to, for those who speak to a registry with its client, and for those without."""

from __future__ import annotations

COMPATIBILITY = "FULL_TRANSITIVE"
"""Every reader, old or new, reads every record, old or new: a replay may hold all of them. Apicurio's own default is
NONE, under which any schema is accepted."""
