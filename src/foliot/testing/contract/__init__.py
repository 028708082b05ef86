"""The conformance suite for stores: what `foliot.protocols.Store` promises, as cases that any store can run.

A back end is one class. It says how to open its store, empty, on a clock that the test moves; how other
processes open the same store, if they can; and how one stored job is damaged its own way:

    from foliot.testing.contract import OpenStore, Sharing, StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def sharing(self, server) -> Sharing:
            return Sharing(open_my_store, f"{server}/{uuid4().hex}")     # a namespace for each test

        @pytest.fixture
        def damage(self) -> Damage:
            return break_my_record

`open_my_store(where, clock)` is a function at the top of a module and gives an async context manager of a
store; opened twice, it gives two handles of the same data. A store that lives in one process only gives
`open_store` instead of `sharing`. Leases go by `clock`: a store on a server adds to the server's time
what the clock was moved by. No plugin of pytest is needed.

The topics are classes of their own, for a store that is still being written: claims, passing over, finishes,
leases, recovery, reconciling, commands, questions, pages, history, damage, herds, groups, versions. What
attempts wrote, who works on the store, where its jobs come from, and which alerts wait have seams of their
own:
`class TestMyStore(StoreContract, OutputContract, NodeContract, SourceContract, AlertContract)`. So have those
of the API: tokens (AccessContract), the audit (AuditContract) and pipelines (PipelineContract).

Three ways to race are built in: claimers come alone, as four tasks, as four threads and as four processes
(`crowd`); somebody else writes in the very middle of a decision (`concurrent_writer`); and a process is
killed while it reconciles (`process`).

Most cases decide with functions of a few lines (`sample`), some with the planner. What a store must
never do is depend on which.
"""

# ruff: noqa: E402 - pytest must know of these modules before they are imported, to show failed asserts

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in (
            "access", "alert", "audit", "claim", "command", "concurrent_writer", "crowd_of_one", "damage",
            "finish", "finish_race", "group", "herd", "history", "lease", "node", "order", "output", "pages",
            "pass_over", "pipeline", "process", "query", "reconcile", "recovery", "sample", "source", "stage",
            "version",
        )
    )
)  # fmt: skip

from foliot.testing.contract.access import AccessContract
from foliot.testing.contract.alert import AlertContract
from foliot.testing.contract.audit import AuditContract
from foliot.testing.contract.claim import ClaimContract
from foliot.testing.contract.command import CommandContract
from foliot.testing.contract.crowd_of_one import CrowdOfOneContract
from foliot.testing.contract.damage import DamageContract
from foliot.testing.contract.finish import FinishContract
from foliot.testing.contract.group import GroupContract
from foliot.testing.contract.herd import HerdContract
from foliot.testing.contract.history import HistoryContract
from foliot.testing.contract.last import LastContract
from foliot.testing.contract.lease import LeaseContract
from foliot.testing.contract.node import NodeContract
from foliot.testing.contract.output import OutputContract
from foliot.testing.contract.pages import PageContract
from foliot.testing.contract.pass_over import PassOverContract
from foliot.testing.contract.pipeline import PipelineContract
from foliot.testing.contract.query import QueryContract
from foliot.testing.contract.reconcile import ReconcileContract
from foliot.testing.contract.recovery import RecoveryContract
from foliot.testing.contract.source import SourceContract
from foliot.testing.contract.stage import Damage, OpenStore, Sharing
from foliot.testing.contract.version import VersionContract

__all__ = [
    "AccessContract",
    "AlertContract",
    "AuditContract",
    "ClaimContract",
    "CommandContract",
    "CrowdOfOneContract",
    "Damage",
    "DamageContract",
    "FinishContract",
    "GroupContract",
    "HerdContract",
    "HistoryContract",
    "LastContract",
    "LeaseContract",
    "NodeContract",
    "OpenStore",
    "OutputContract",
    "PageContract",
    "PassOverContract",
    "PipelineContract",
    "QueryContract",
    "ReconcileContract",
    "RecoveryContract",
    "Sharing",
    "SourceContract",
    "StoreContract",
    "VersionContract",
]


class StoreContract(
    ClaimContract,
    PassOverContract,
    FinishContract,
    LeaseContract,
    RecoveryContract,
    ReconcileContract,
    CommandContract,
    LastContract,
    QueryContract,
    PageContract,
    HistoryContract,
    DamageContract,
    CrowdOfOneContract,
    HerdContract,
    GroupContract,
    VersionContract,
):
    """Everything that a store promises."""
