"""Fixtures of this level."""

from tests.support.spark import spark

__all__ = ["spark"]
