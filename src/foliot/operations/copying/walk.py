"""Reads an answer of a store page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from foliot.model.query import Page

Entry = TypeVar("Entry")

PAGE = 500


async def pages_of(ask: Callable[[Any], Awaitable[Page[Entry]]], query: Any) -> AsyncIterator[Page[Entry]]:
    """All pages of a query, which has the fields `after` and `limit`."""
    query = query._replace(limit=PAGE)
    while True:
        page = await ask(query)
        yield page
        if page.next is None:
            return
        query = query._replace(after=page.next)


async def entries_of(ask: Callable[[Any], Awaitable[Page[Entry]]], query: Any) -> AsyncIterator[Entry]:
    """All entries of a query, in the order of the store."""
    async for page in pages_of(ask, query):
        for entry in page:
            yield entry
