"""The words of states, and the tone of each: its colour and its shape, which say the same as the word."""

from __future__ import annotations

from collections.abc import Sequence

_TONES = {
    "good": ("ok", "succeeded", "success", "ran", "alive", "done", "served"),
    "busy": ("running", "runs", "cancelling", "open"),
    "wait": ("waiting", "waits", "pending", "planned", "will_run", "draining", "asked", "starting"),
    "bad": (
        "failing",
        "failed",
        "timed_out",
        "lost",
        "damaged",
        "missed",
        "silent",
        "error",
        "unserved",
        "overdue",
        "interrupted",
    ),
    "rest": (
        "paused",
        "skipped",
        "cancelled",
        "covered",
        "disabled",
        "refused",
        "warning",
        "removed",
        "late",
        "overlap",
        "crowded",
        "replaced",
        "overtaken",
        "too_many",
        "never_run",
    ),
}
_TONE_OF = {word: tone for tone, words in _TONES.items() for word in words}
_WORDS = {"will_not": "will not run", "timed_out": "timed out", "will_run": "will run"}
_MEGA = 1_000_000
_TOLD = 5


def tone_of(word: str | None) -> str:
    """`good`, `busy`, `wait`, `bad`, `rest`, or `none`."""
    return _TONE_OF.get(word or "", "none")


def word_of(word: str | None) -> str:
    """A word of a state as people read it."""
    return _WORDS.get(word or "", (word or "").replace("_", " "))


def words_of(words: Sequence[str]) -> str:
    """The first few words of a list, for who does not see its drawing."""
    return ", ".join(map(word_of, words[:_TOLD]))


def title_of(word: str) -> str:
    """The same, as a heading."""
    return word_of(word).capitalize()


def number(count: int | None) -> str:
    """`950`, `12,400`, `about 1.2 M`."""
    if count is None:
        return "many"
    return f"{count:,}" if count < _MEGA else f"about {count / _MEGA:.1f} M"
