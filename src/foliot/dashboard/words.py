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
_DEEDS = {  # the verbs of the audit: names of functions of the API
    "trigger": "trigger a run",
    "rerun": "run again",
    "cancel": "cancel a run",
    "pull": "read a source again",
    "remove": "remove a source",
    "create_job": "declare a job",
    "declare_jobs": "declare jobs",
    "patch_job": "change a job",
    "replace_job": "replace a job",
    "remove_job": "remove a job",
    "bulk": "command to many jobs",
    "create_pipeline": "add a pipeline",
    "patch_pipeline": "change a pipeline",
    "remove_pipeline": "remove a pipeline",
    "run_pipeline": "run a pipeline",
    "create_schedule": "add a schedule",
    "patch_schedule": "change a schedule",
    "replace_schedule": "replace a schedule",
    "remove_schedule": "remove a schedule",
    "backfill_schedule": "backfill a schedule",
    "create_token": "make a token",
    "revoke_token": "revoke a token",
}
_MEGA = 1_000_000
_TOLD = 5


def tone_of(word: str | None) -> str:
    """`good`, `busy`, `wait`, `bad`, `rest`, or `none`."""
    return _TONE_OF.get(word or "", "none")


def word_of(word: str | None) -> str:
    """A word of a state, or a verb of the audit, as people read it."""
    given = (word or "").removesuffix("_by_name")
    return _WORDS.get(given) or _DEEDS.get(given) or given.replace("_", " ")


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
