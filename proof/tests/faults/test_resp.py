"""The proxy understands just enough of Redis' protocol: which script is called, and its answer."""

from __future__ import annotations

import pytest

from foliot_proof.faults.resp import Reader, ScriptTalk
from foliot_proof.faults.wire import Answer


def packed(*words: bytes) -> bytes:
    parts = (b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
    return b"*%d\r\n%s" % (len(words), b"".join(parts))


CLAIM = packed(b"EVALSHA", b"abc", b"1", b"{x}", b'{"needs_lease": true}')
OTHER = packed(b"EVALSHA", b"abc", b"1", b"{x}", b'{"verb": "renew"}')
WORDS = b'"needs_lease": true'
DONE = b"*4\r\n$2\r\nOK\r\n$1\r\n7\r\n$1\r\n8\r\n*1\r\n:1\r\n"
NOTHING = b"$-1\r\n"


@pytest.mark.parametrize("step", [1, 3, 1000], ids=["byte by byte", "in small pieces", "at once"])
def test_values_are_whole_however_the_bytes_come(step: int) -> None:
    sent, reader = DONE + NOTHING + b"+OK\r\n" + packed(b"a\r\nb"), Reader()
    pieces = [sent[at : at + step] for at in range(0, len(sent), step)]
    found = [value for piece in pieces for value in reader.values(piece)]
    assert found == [[b"OK", b"7", b"8", b":1"], [b"$-1"], [b"+OK"], [b"a\r\nb"]]


@pytest.mark.parametrize(
    ("commands", "is_wanted"),
    [(CLAIM, True), (OTHER, False), (packed(b"SET", b"a", WORDS), False), (OTHER + CLAIM, True)],
    ids=["a claim", "another script", "no script", "a claim behind another script"],
)
def test_the_script_of_a_claim_is_recognised(commands: bytes, is_wanted: bool) -> None:  # noqa: FBT001 - a column
    assert ScriptTalk().ask(commands, WORDS) is is_wanted


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (DONE, Answer.DONE),
        (b"-NOSCRIPT No matching script\r\n", Answer.REFUSED),
        (DONE.replace(b"OK", b"NO"), Answer.REFUSED),
        (DONE[:-1], Answer.NONE),
    ],
)
def test_its_answer_is_the_one_that_comes_in_its_place(said: bytes, answer: Answer) -> None:
    talk = ScriptTalk()
    assert talk.ask(OTHER + CLAIM, WORDS)
    assert talk.answer(DONE) is Answer.NONE, "that is the answer to the script before it"
    assert talk.answer(said) is answer


def test_two_claims_in_one_piece_are_waited_for_once() -> None:
    talk = ScriptTalk()
    assert talk.ask(CLAIM + CLAIM, WORDS)
    assert talk.answer(DONE) is Answer.DONE
    assert talk.answer(DONE) is Answer.NONE
