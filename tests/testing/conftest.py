"""What the tests of the test tools share."""

from testing.untraced import untraced

__all__ = ["untraced"]
