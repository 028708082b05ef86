"""Files of variables: what they say, and what is refused with file and line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foliot.errors import InvalidJobError
from foliot.executors.shell import env_file
from foliot.executors.shell.env_file import LARGEST, parse_env_file, read_env_file


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ("A=1", {"A": "1"}),
        ("  A = 1  ", {"A": "1"}),
        ("export A=1", {"A": "1"}),
        ("exportA=1", {"exportA": "1"}),
        ("A=", {"A": ""}),
        ("A=a b", {"A": "a b"}),
        ("A=a=b", {"A": "a=b"}),
        ("A=b # c", {"A": "b"}),
        ("A=b#c", {"A": "b#c"}),
        ("A=# c", {"A": ""}),
        ("A='b # c'", {"A": "b # c"}),
        (r"A='b\n$c'", {"A": r"b\n$c"}),
        (r'A="b\nc\t\"\\\$d"', {"A": 'b\nc\t"\\$d'}),
        ('A="b" # c', {"A": "b"}),
        ("A=$B${C}`d`", {"A": "$B${C}`d`"}),
        ("A=it's", {"A": "it's"}),
        ("A=1\nA=2", {"A": "2"}),
        ("# A=1\n\n   # B=2\nC=3\r\n", {"C": "3"}),
        ("A=ä€", {"A": "ä€"}),
        ("MY_FOLIOT_A=1", {"MY_FOLIOT_A": "1"}),
    ],
)
def test_a_line_gives_a_variable(line: str, variables: dict[str, str]) -> None:
    assert parse_env_file(line, "vars") == variables


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A=1\nB", "invalid env_file vars, line 2: it is not NAME=value"),
        ("=1", "line 1: it is not"),
        ("1A=1", "line 1: it is not"),
        ("A-B=1", "line 1: it is not"),
        ("export", "line 1: it is not"),
        ("\n\nA='b", "line 3: it has no closing '"),
        ('A="b" c', 'line 1: it has no closing ", or something behind it'),
        ('A="b\\"', 'line 1: it has no closing "'),
        ("A=x\0y", "line 1: it has a NUL character"),
        ("A=1\nexport FOLIOT_KEY=x", "line 2: it sets FOLIOT_KEY: names that begin with FOLIOT_ are"),
    ],
)
def test_what_cannot_be_read_names_file_and_line(text: str, message: str) -> None:
    with pytest.raises(InvalidJobError) as raised:
        parse_env_file(text, "vars")
    assert message in str(raised.value)
    assert raised.value.hint


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "vars").write_bytes(b"\xef\xbb\xbfA=1\n")
    assert read_env_file(tmp_path / "vars", "vars") == {"A": "1"}


def test_what_is_no_file_or_no_text_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"A=1\nB=\xff\n")
    (tmp_path / "large").write_bytes(b"#" * (LARGEST + 1))
    for name, message in (
        ("pipe", "invalid env_file pipe: it is not a regular file"),
        (".", "it is not a regular file"),
        ("nothing", "it cannot be read (No such file or directory)"),
        ("binary", "invalid env_file binary, line 2: it is not UTF-8"),
        ("large", "it has more than 65,536 bytes"),
    ):
        with pytest.raises(InvalidJobError) as raised:
            read_env_file(tmp_path / name, name)
        assert message in str(raised.value)


def test_a_file_that_has_not_changed_is_not_parsed_again_and_one_that_has_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty jobs that share a file may start in the same second, each in a snapshot of its own."""
    parsed = []

    def value(text: str, *_: object) -> str:
        parsed.append(text)
        return text

    monkeypatch.setattr(env_file, "_value", value)
    for number in range(60):
        (tmp_path / f"{number}").write_text("A=shared by sixty\n")
        variables = read_env_file(tmp_path / f"{number}", "vars")
        assert variables == {"A": "shared by sixty"}
        variables["A"] = "one's own"
    (tmp_path / "0").write_text("A=another by sixty\n")
    assert read_env_file(tmp_path / "0", "vars") == {"A": "another by sixty"}
    assert parsed == ["shared by sixty", "another by sixty"]
