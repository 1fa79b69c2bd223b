"""What a service of this machine is to those that start and watch it: a module with these names."""

from __future__ import annotations

from typing import Protocol

from app.base.service_settings import ServicesSettings
from app.base.services.processes import Daemon
from app.base.settings import Settings


class Service(Protocol):
    """One process that answers at an address."""

    NAME: str

    def ports(self, services: ServicesSettings, /) -> dict[str, int]:
        """What it listens on, by field."""

    def is_here(self, settings: Settings, /) -> bool:
        """Whether the address that is set is that of the one on this machine."""

    def address(self, settings: Settings, /) -> str:
        """The one that is set."""

    def daemon(self, settings: Settings, /) -> Daemon:
        """Ready to start. Raises JarError, JavaNotFound."""

    def answers(self, settings: Settings, /) -> bool:
        """Whether the local one does."""

    def reachable(self, settings: Settings, /) -> bool:
        """Whether the one that is set does, wherever it runs, with the password that is set."""

    def prepare(self, settings: Settings, /) -> None:
        """What is to be set in it each time it has started."""
