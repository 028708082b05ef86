"""Files of variables: what they say, and what is refused with file and line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foliot.errors import InvalidJobError
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
        ("large", "it has more than 1048576 bytes"),
    ):
        with pytest.raises(InvalidJobError) as raised:
            read_env_file(tmp_path / name, name)
        assert message in str(raised.value)
