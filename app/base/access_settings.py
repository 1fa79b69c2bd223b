"""Who may ask a worker, and how those of this program ask one."""

from __future__ import annotations

from pydantic import Field, SecretStr

from app.base.setting_groups import FileOrNone, SettingsGroup

RATE_OF_KEYS = 500.0


class AccessSettings(SettingsGroup):
    """Keys, certificates, and how much one caller may ask (docs/access.md)."""

    keys_file: FileOrNone = None
    """The keys that a worker takes, which ``flagfall keys`` writes. Default: whoever reaches it may ask."""
    token: SecretStr = SecretStr("")
    """The key that commands, reconciliations and workers show the workers that they ask."""
    ca_file: FileOrNone = None
    """PEM file of the authorities whose certificates workers may have. Default: the ones that the system trusts."""
    open_to_all: bool = False
    """Answer beyond loopback without keys or without TLS, as behind a proxy that has both."""
    rate_per_second: float | None = Field(default=None, ge=0, le=1e6)
    """Requests that one caller may make a second, and as many at once; 0: any. Default: 500, or any without keys."""

    @property
    def most_per_second(self) -> float:
        """Requests that one caller may make a second; 0: any."""
        if self.rate_per_second is not None:
            return self.rate_per_second
        return 0.0 if self.keys_file is None else RATE_OF_KEYS
