"""What an identity allows: by its scope, its sources and its rights."""

from __future__ import annotations

from itertools import product

import pytest

from foliot.access import Identity, make_token
from foliot.model.access import Right, Scope
from foliot.testing.clock import ManualClock

ORDER = [Scope.READ, Scope.OPERATE, Scope.WRITE, Scope.ADMIN]


@pytest.mark.parametrize(("has", "needs"), list(product(ORDER, ORDER)))
def test_a_scope_includes_those_before_it(has: Scope, needs: Scope) -> None:
    allowed = ORDER.index(has) >= ORDER.index(needs)
    identity = Identity("t1", "ci", has)
    assert identity.allows(needs) is identity.allows(needs, "ops") is allowed


@pytest.mark.parametrize("scope", ORDER)
def test_a_limit_to_sources_holds_for_each_scope(scope: Scope) -> None:
    identity = Identity("t1", "ci", Scope.ADMIN, sources=("ops",))
    assert identity.allows(scope, "ops")
    for other in ("op", "ops2", "ops/x", "OPS", ""):
        assert not identity.allows(scope, other)


@pytest.mark.parametrize("scope", ORDER)
def test_what_is_of_no_source_can_only_be_read_by_who_is_limited(scope: Scope) -> None:
    """Otherwise it could make itself a token without a limit."""
    assert Identity("t1", "ci", Scope.ADMIN, sources=("ops",)).allows(scope) is (scope is Scope.READ)


def test_no_scope_includes_a_right() -> None:
    identity = Identity("t1", "ci", Scope.ADMIN, rights=(Right.HTTP,))
    assert identity.has_right(Right.HTTP)
    assert not identity.has_right(Right.SHELL)


def test_an_identity_is_that_of_its_token() -> None:
    now = ManualClock().now()
    token = make_token("ci", Scope.WRITE, now, sources=["ops"], rights=[Right.SHELL]).token
    identity = Identity.of(token)
    assert identity == Identity(token.id, "ci", Scope.WRITE, ("ops",), (Right.SHELL,))
    assert identity.actor == f"token:{token.id} ci"
    assert Identity.of(token, is_session=True).is_session
