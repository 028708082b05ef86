"""What the tests of the test tools share."""

from untraced import untraced

__all__ = ["untraced"]
