"""What an import tells: IMPORT.md for people, JSON for programs. Both say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from foliot.importers.draft import Draft, Line, LineKind, Note, Source
from foliot.importers.proof import Proof

_PLURALS = {
    LineKind.JOB: "jobs",
    LineKind.VARIABLE: "variables",
    LineKind.COMMENT: "comments",
    LineKind.SETTING: "settings",
}


class Outcome(NamedTuple):
    """All that was read and proved; `seen` is what a log said, if one was given."""

    sources: tuple[Source, ...]
    proofs: Mapping[str, Proof | None]
    seen: tuple[str, ...] = ()
    unexplained: int = 0

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """The jobs of all sources, in order."""
        return tuple(draft for source in self.sources for draft in source.drafts)

    @property
    def has_failure(self) -> bool:
        """Whether a source could not be read."""
        return any(source.failure for source in self.sources)

    @property
    def needs_person(self) -> bool:
        """Whether something is not translated, not equal, or to be looked at."""
        lines = (line for source in self.sources for line in source.lines)
        notes = [note for source in self.sources for note in source.notes]
        notes += [note for draft in self.drafts for note in draft.notes]
        return (
            any(line.kind is LineKind.UNTRANSLATED and line.to_do != "nothing" for line in lines)
            or any(note.needs_person for note in notes)
            or any(proof is not None and not proof.is_equal for proof in self.proofs.values())
            or bool(self.unexplained)
        )


def account(lines: tuple[Line, ...]) -> str:
    """Every line once: "37 lines = 11 jobs + 5 variables + …"."""
    counts = Counter(line.kind for line in lines)
    parts = [f"{counts[kind]} {_word(kind, counts[kind])}" for kind in LineKind if counts[kind]]
    total = len(lines)
    return f"{total} {'line' if total == 1 else 'lines'} = {' + '.join(parts) or '0'}"


def _word(kind: LineKind, count: int) -> str:
    return str(kind) if count == 1 else _PLURALS.get(kind, str(kind))


def proof_words(proof: Proof | None) -> list[str]:
    """What the proof of a job comes to: one line, and one for each difference."""
    if proof is None:
        return ["the original has no fixed times: nothing to compare"]
    until = f"{proof.until:%Y-%m-%d}"
    changes = (
        f", {proof.changes} clock changes included" if proof.changes else ", no clock change in its zone"
    )
    late = f"; its delay is within the original's {proof.window // 60} minutes" if proof.window else ""
    head = "equal" if proof.is_equal else "not equal"
    lines = [f"{head}: {proof.equal:,} of {proof.compared:,} (until {until}){changes}{late}"]
    lines += (
        f"{one.code}: {one.total:,} runs differ, first at {'; '.join(one.times)}. "
        f"Field that removes it: {one.remedy}"
        for one in proof.differences
    )
    return lines


def markdown(outcome: Outcome) -> str:
    """IMPORT.md."""
    lines = ["# What was imported", ""]
    for source in outcome.sources:
        lines += _source_lines(source, outcome)
    if outcome.seen:
        lines += ["## Against the log", "", *(f"- {_plain(line)}" for line in outcome.seen), ""]
    homes = sorted({draft.home for draft in outcome.drafts if draft.home})
    if homes:
        lines += [
            "## One daemon for each user",
            "",
            "Each directory is a repository of its own. As root, or by a unit of each user:",
            "",
            *("```sh", *(f"runuser -u {home} -- foliot serve {home}" for home in homes), "```", ""),
        ]
    commands = [command for source in outcome.sources for command in source.switch_off]
    if commands:
        lines += [
            "## To switch the old entries off",
            "",
            "Nothing was changed. When the new jobs run, and not before:",
            "",
        ]
        lines += ["```sh", *commands, "```", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _source_lines(source: Source, outcome: Outcome) -> Iterator[str]:
    yield from (f"## {_plain(source.name)}", "")
    if source.failure:
        yield from (f"**It cannot be read:** {_plain(source.failure)}", "")
        return
    yield from (account(source.lines) + ".", "")
    for draft in source.drafts:
        head, *more = proof_words(outcome.proofs.get(draft.id))
        yield f"- `{draft.id}` ({_plain(draft.place)}: `{_code(draft.written)}`) {head}"
        yield from (f"  - {_plain(line)}" for line in more)
        yield from (f"  - {note.code}: {_plain(note.text)}" for note in draft.notes)
    if source.drafts:
        yield ""
    refused = [line for line in source.lines if line.kind is LineKind.UNTRANSLATED]
    if refused:
        yield from ("Not translated:", "")
        for line in refused:
            yield f"- line {line.number}: `{_code(line.text)}`"
            yield f"  - {line.code}: {_plain(line.reason)}. To do: {_plain(line.to_do)}."
        yield ""
    if source.notes:
        yield from (*(f"- {note.code}: {_plain(note.text)}" for note in source.notes), "")


def facts(outcome: Outcome) -> dict[str, Any]:
    """The same for programs."""
    return {
        "ok": not outcome.needs_person and not outcome.has_failure,
        "sources": [_source_facts(source, outcome) for source in outcome.sources],
        "log": list(outcome.seen),
    }


def _source_facts(source: Source, outcome: Outcome) -> dict[str, Any]:
    return {
        "name": source.name,
        "failure": source.failure or None,
        "account": account(source.lines),
        "lines": [
            {"number": line.number, "kind": str(line.kind), "text": line.text, "code": line.code or None,
             "reason": line.reason or None, "to_do": line.to_do or None}
            for line in source.lines
        ],
        "jobs": [_job_facts(draft, outcome.proofs.get(draft.id)) for draft in source.drafts],
        "notes": [_note_facts(note) for note in source.notes],
        "switch_off": list(source.switch_off),
    }  # fmt: skip


def _job_facts(draft: Draft, proof: Proof | None) -> dict[str, Any]:
    return {
        "job": draft.id,
        "user": draft.fields.get("user") or draft.home or None,
        "place": draft.place,
        "rule": draft.written,
        "schedule": draft.when._asdict() if draft.when else None,
        "notes": [_note_facts(note) for note in draft.notes],
        "proof": None if proof is None else {
            "equal": proof.is_equal, "compared": proof.compared, "same": proof.equal, "until": proof.until,
            "clock_changes": proof.changes, "differences": [one._asdict() for one in proof.differences],
        },
    }  # fmt: skip


def _note_facts(note: Note) -> dict[str, Any]:
    return note._asdict()


def _code(text: str) -> str:
    """A text inside backticks: it cannot end them, and is one line."""
    return "".join(c if c.isprintable() and c != "`" else "?" for c in text)[:200]


def _plain(text: str) -> str:
    """A text in a list: it can be no mark of Markdown's own."""
    shown = "".join(c if c.isprintable() else "?" for c in text)
    for mark in "\\`*_<>[]|#":
        shown = shown.replace(mark, f"\\{mark}")
    return shown
