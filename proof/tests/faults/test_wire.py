"""The proxy understands just enough of PostgreSQL's protocol: which commit is asked for, and its answer."""

from __future__ import annotations

import pytest

from foliot_proof.faults.wire import Answer, Conversation, Stream


def message(kind: bytes, body: bytes) -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def simple(statement: bytes) -> bytes:
    return message(b"Q", statement + b"\0")


def extended(statement: bytes) -> bytes:
    parts = (b"P", b"\0" + statement + b"\0\0\0"), (b"B", b"\0\0"), (b"E", b"\0" * 5), (b"S", b"")
    return b"".join(message(kind, body) for kind, body in parts)


GREETING = (12).to_bytes(4, "big") + b"hello..."
DONE = message(b"C", b"COMMIT\0") + message(b"Z", b"I")
FAILED = message(b"E", b"SERROR\0\0") + message(b"Z", b"I")


@pytest.mark.parametrize("step", [1, 3, 1000], ids=["byte by byte", "in small pieces", "at once"])
def test_messages_are_whole_however_the_bytes_come(step: int) -> None:
    sent, stream = GREETING + simple(b"SELECT 1") + message(b"X", b""), Stream(is_client=True)
    pieces = [sent[at : at + step] for at in range(0, len(sent), step)]
    found = [told for piece in pieces for told in stream.messages(piece)]
    assert found == [(b"", b"hello..."), (b"Q", b"SELECT 1\0"), (b"X", b"")]


@pytest.mark.parametrize("send", [simple, extended])
@pytest.mark.parametrize(
    ("statements", "is_wanted"),
    [
        ([b"BEGIN", b"INSERT INTO claims VALUES (1)", b"COMMIT"], True),
        ([b"BEGIN", b"UPDATE nodes", b"COMMIT"], False),
        ([b"BEGIN", b"INSERT INTO claims VALUES (1)", b"ROLLBACK", b"BEGIN", b"SELECT 1", b"COMMIT"], False),
        ([b"BEGIN", b"INSERT INTO claims VALUES (1)"], False),
    ],
    ids=["a claim", "something else", "a claim that was given up", "a claim that is not yet over"],
)
def test_the_commit_of_one_kind_of_transaction_is_recognised(
    send: object,
    statements: list[bytes],
    is_wanted: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert callable(send)
    talk = Conversation()
    assert not talk.ask(GREETING, b"INSERT INTO claims")
    assert talk.ask(b"".join(map(send, statements)), b"INSERT INTO claims") is is_wanted


@pytest.mark.parametrize(
    ("said", "answer"), [(DONE, Answer.DONE), (FAILED, Answer.REFUSED), (DONE[:5], Answer.NONE)]
)
def test_what_the_server_says_to_it(said: bytes, answer: Answer) -> None:
    talk = Conversation()
    talk.ask(GREETING + simple(b"BEGIN") + simple(b"COMMIT"), b"")
    assert talk.answer(message(b"C", b"BEGIN\0")) is Answer.NONE
    assert talk.answer(said) is answer


def test_an_answer_to_something_else_is_none() -> None:
    talk = Conversation()
    assert not talk.ask(GREETING + simple(b"SELECT 1"), b"")
    assert talk.answer(DONE) is Answer.NONE
