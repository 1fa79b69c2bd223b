"""One broker and one registry for all integration tests; each test takes an application id of its own."""

from tests.support.machine.fixtures import services, settings, world

__all__ = ["services", "settings", "world"]
