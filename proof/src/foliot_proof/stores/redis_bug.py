"""Mistakes that a store on Redis may have, switched on in a process; each must be found."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha1
from typing import Any

from foliot_proof.stores.kind import swap


def mark_by_the_token() -> None:
    """A job is guarded by its token alone: a write that leaves the token as it was is not noticed."""
    from foliot.stores.redis import herd  # noqa: PLC0415 - the driver may not be there
    from foliot.stores.redis.encode import Encoder  # noqa: PLC0415 - as above

    real = Encoder.words

    def words(encoder: Any, change: Any, claim_id: str | None = None) -> Any:
        encoder._new_mark = iter((f"token-{change.after.state.token if change.after else 0}",))  # noqa: SLF001 - a bug breaks in
        return real(encoder, change, claim_id)

    swap(Encoder, "words", words)
    swap(herd, "plain_parts", lambda _: None)  # herds have marks of their own


def take_out_before_the_compare() -> None:
    """A look takes what is due out of the index: if its node then dies, no node ever finds the job."""
    found = "        answers[#answers + 1] = one.lane .. one.member\n"
    _rewrite("look", found, f"        redis.call('ZREM', T .. ':w:' .. one.lane, one.member)\n{found}")


def take_the_hold_for_a_lock() -> None:
    """A claim does not compare what it has at hand: no other node touches that, it believes."""
    _rewrite(
        "commit", "if job.key ~= '' and not has_mark", "if job.key ~= '' and not asked.claim and not has_mark"
    )
    _rewrite("herd", "if not has_mark", "if not asked.claim and not has_mark")


def apply_before_it_counts() -> None:
    """The portions of a large revision are written while its marks are compared, before all of them are."""
    found = "  return answer('OK', unpack(refused))\nend\n\nif asked.step == 'count'"
    applied = """
  local words = redis.call('LRANGE', list_of(asked.list), 0, -1)
  for place, text in ipairs(texts_of(jobs)) do write(jobs[place], words, text) end
  carry_out()
"""
    _rewrite("stage", found, f"  if #refused == 0 then {applied} end\n{found}")


BUGS: dict[str, Callable[[], None]] = {
    bug.__name__: bug
    for bug in (
        mark_by_the_token,
        take_out_before_the_compare,
        take_the_hold_for_a_lock,
        apply_before_it_counts,
    )
}


def _rewrite(name: str, found: str, text: str) -> None:
    """Change some words of a script; if they are no longer there, fail loudly."""
    from foliot.stores.redis import script  # noqa: PLC0415 - the driver may not be there

    real = script.script

    @cache
    def rewritten(asked: str) -> script.Script:
        known = real(asked)
        if asked != name:
            return known
        changed = known.text.replace(found, text)
        if changed == known.text:
            raise LookupError(f"the script {name} has no {found!r}")
        return script.Script(changed, sha1(changed.encode(), usedforsecurity=False).hexdigest())

    swap(script, "script", rewritten)
