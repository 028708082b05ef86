"""The conformance suite for stores of documents: what `foliot.doors.documents.JobStore` promises, as cases.

A store is one class. It says how to open the store, and where the documents of one test are:

    from foliot.testing.documents import JobStoreContract

    @asynccontextmanager
    async def open_my_store(where):                 # a function at the top of a module
        yield MyStore(where)

    class TestMyStore(JobStoreContract):
        open_store = staticmethod(open_my_store)

        @pytest.fixture
        def where(self, server) -> str:
            return f"{server}/{uuid4().hex}"        # a place for each test

Opened twice with the same `where`, it gives two handles of the same documents. The suite adds documents by
the store's `put(document)`, under the names `sleepUntil`, `interval`, `repeatUntil`, `autoRemove`, and reads
them by its `get(id)`, which returns a Job. A store that has neither overrides `add` and `find` of the class.

A store that other processes can open is also a `SharedStoreContract`; one that can prove its locks
(`FencedStore`) is also a `FencedStoreContract`. No plugin of pytest is needed, and no case waits for time to
pass: a lock that has ended is one that was written as such.
"""

# ruff: noqa: E402 - pytest must know of these modules before they are imported, to show failed asserts

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    *(f"{__name__}.{name}" for name in ("crowd", "fence", "life", "process", "stage", "verbs"))
)

from foliot.testing.documents.crowd import CrowdContract
from foliot.testing.documents.fence import FencedStoreContract
from foliot.testing.documents.life import LifeContract
from foliot.testing.documents.process import SharedStoreContract
from foliot.testing.documents.verbs import VerbContract

__all__ = ["FencedStoreContract", "JobStoreContract", "SharedStoreContract"]


class JobStoreContract(VerbContract, CrowdContract, LifeContract):
    """All that a store with three verbs must do."""
