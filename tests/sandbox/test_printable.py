"""What messages repeat of their input: no escape sequence, nothing that cannot be printed."""

from __future__ import annotations

import pytest

from tenbin.config import build_config
from tenbin.errors import ConfigError, TenbinError
from tenbin.sandbox.printable import brief, shown, visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("天秤 é\tone\ntwo", "天秤 é\tone\ntwo"),
        ("a\x1b[31mb\x07\r", "a\\x1b[31mb\\a\\r"),
        ("\ud800x\udfff", "\\ud800x\\udfff"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("👨\u200d👩", "👨\u200d👩"),
    ],
)
def test_characters_that_steer_a_terminal_are_written_out(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_a_long_text_is_cut_and_counted() -> None:
    assert brief("a" * 12, 10) == "a" * 10 + "… (2 more characters)"
    assert brief("a" * 10, 10) == "a" * 10


def test_errors_can_be_printed_whatever_they_repeat() -> None:
    error = TenbinError("x\x1b[2J\ud800" + "y" * 100_000, "\x07" * 5_000)
    str(error).encode()
    assert "\x1b" not in str(error) and "\x07" not in str(error)
    assert len(str(error)) < 15_000


def test_a_value_is_repeated_briefly() -> None:
    bomb: list[object] = ["x"]
    for _ in range(40):
        bomb = [bomb] * 10
    assert len(shown(bomb)) <= 300
    assert shown(16**9_000) == "a number of thousands of digits"
    assert shown("a" * 9_000).startswith("'aaa")
    with pytest.raises(ConfigError, match="--seed takes a whole number, not"):
        build_config({"tasks": "jnli", "seed": bomb})
