"""Pairs of histories that differ in one fact: with it all is well, without it one thing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from foliot_proof.history import Code, History, check
from history.case_builder import CaseBuilder

Tell = Callable[..., CaseBuilder | History]  # takes is_legal by its name


class Twin(NamedTuple):
    """The legal one raises no alarm; the illegal one is flagged with exactly this code."""

    code: Code
    tell: Tell

    def __str__(self) -> str:
        return f"{self.code}: {self.tell.__name__.replace('_', ' ')}"

    def judge(self) -> tuple[set[Code], set[Code]]:
        """What is found in each."""
        return codes(self.tell(is_legal=True)), codes(self.tell(is_legal=False))


class Twins(list[Twin]):
    """Collects the twins of one topic."""

    def __call__(self, code: Code) -> Callable[[Tell], Tell]:
        def note(tell: Tell) -> Tell:
            self.append(Twin(code, tell))
            return tell

        return note


def codes(told: CaseBuilder | History) -> set[Code]:
    return set(check(told.history() if isinstance(told, CaseBuilder) else told).codes)
