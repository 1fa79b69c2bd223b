"""One broker and one registry for all tests, shared with the integration tests of the same run."""

from tests.support.machine.fixtures import services, settings, world
from tests.support.machine.spark import spark

__all__ = ["services", "settings", "spark", "world"]
