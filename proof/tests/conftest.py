"""What the long proofs share."""

from untraced import untraced

__all__ = ["untraced"]
