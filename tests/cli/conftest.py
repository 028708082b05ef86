"""What the tests of commands on a store share."""

from __future__ import annotations

from cli.shop import empty_shop, furnished, shop

__all__ = ["empty_shop", "furnished", "shop"]
