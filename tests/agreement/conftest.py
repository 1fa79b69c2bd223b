"""Fixtures of this level."""

from tests.support.machine.spark import spark

__all__ = ["spark"]
