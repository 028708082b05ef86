"""What the proxy understands of MongoDB's protocol."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import bson
import pytest

from foliot_proof.faults.op_msg import WriteTalk
from foliot_proof.faults.wire import Answer
from foliot_proof.stores.mongodb import MongoDB

_OP_MSG = 2013
UPDATE = {"update": "jobs", "updates": [{"q": {"_id": "a/b"}, "u": {"$set": {"c": [{"k": "claim"}]}}}]}


def message(number: int, answers: int, document: Mapping[str, object]) -> bytes:
    body = struct.pack("<IB", 0, 0) + bson.encode(document)
    return struct.pack("<IIII", 16 + len(body), number, answers, _OP_MSG) + body


def test_the_answer_to_a_claim_is_known_among_others_however_it_is_cut() -> None:
    talk = WriteTalk()
    asked = message(7, 0, {"find": "jobs"}) + message(8, 0, UPDATE)
    seen = [talk.ask(asked[place : place + 1], MongoDB.claim_words) for place in range(len(asked))]
    assert seen.count(True) == 1
    assert seen[-1], "when it is whole"
    assert talk.answer(message(1, 7, {"ok": 1.0})) is Answer.NONE, "that was another question"
    answer = message(2, 8, {"n": 1, "ok": 1.0})
    assert talk.answer(answer[:20]) is Answer.NONE
    assert talk.answer(answer[20:]) is Answer.DONE


@pytest.mark.parametrize(
    "answer",
    [
        {"n": 0, "writeErrors": [{"index": 0, "code": 241}], "ok": 1.0},
        {"n": 1, "writeConcernError": {"code": 64}, "ok": 1.0},
        {"ok": 0.0, "code": 10107},
    ],
)
def test_a_write_that_was_refused_is_no_lost_answer(answer: dict[str, object]) -> None:
    talk = WriteTalk()
    assert talk.ask(message(8, 0, UPDATE), MongoDB.any_words)
    assert talk.answer(message(1, 8, answer)) is Answer.REFUSED


def test_another_collection_is_not_meant() -> None:
    assert not WriteTalk().ask(message(8, 0, {**UPDATE, "update": "nodes"}), MongoDB.any_words)
