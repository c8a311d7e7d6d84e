"""Patterns of task files: the same matches as `re`, and an end in time."""

from __future__ import annotations

import re
import threading
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tenbin.sandbox.patterns
from tenbin.errors import TaskError
from tenbin.sandbox.patterns import PatternTooSlow, compile_pattern
from tenbin.sandbox.patterns.cost import affordable_length
from tenbin.sandbox.patterns.translation import parse

PATTERNS = (
    # Patterns of lm-eval's task files.
    r"#### (\-?[0-9\.\,]+)",
    r"(-?[$0-9.,]{2,})|(-?[0-9]+)",
    r"The answer is (\-?[0-9\.\,]+).",
    r"(?<=The best answer is )(.*)(?=.)",
    r"(?i)(?:answer\s*is|answer\s*:)\s*\(?([A-J])\)?",
    r"answer is \(?([ABCDEFGHIJ])\)?",
    r"\((\w)\)",
    r"\b(Yes|No|yes|no)\b",
    r".*(\d+)",
    r"(?s)<ans>(.*?)</ans>",
    r"\\boxed{([^}]*)}",
    r"^\s+|\s+$",
    r"[\s\S]*?答え[:：]\s*([A-E])",
    r"([A-Z])[\.:、)]",
    r"((?<=The answer is )(.*)(?=.)|(?<=the answer is )(.*)(?=.))",
    r"(?:^|\n)\W*([A-D])\b",
    r" \[.*?\]",
    r"[^\w\s]",
    r"[^\W\d_]+",
    r"[\W_]",
    r"[\D]x?",
    # What the two packages read differently.
    r"a{e}",
    r"x{,2}y{i<=1}",
    r"[[:alpha:]]",
    r"\Bo\B",
    r"\B",
    r"\w+",
    r"\S+",
    r"(?a:\w)+|\d",
    r"(?x) ( a | b )+ # [ comment",
    r"(a)|(b)|(?P<name>c)(?P=name)?",
    r"(a)?(?(1)b|c)",
    r"(?!)x|(?=a)",
    r"x*",
    r"(a|ab)(c|bcd)(d*)",
    r"(?m)^.+$",
    r"(?i:straße)|ß",
    r"[a\]\-^]+|\.",
    r"([あ-ん]+)\1?",
    r"a*?b+?|(?:cd){2,3}?",
)
TEXTS = (
    "",
    "a",
    "#### -1,234.5\n#### 7",
    "The answer is 42. the answer is (B).",
    "So the answer is: (c)\nA. yes, No\n",
    r"we get \boxed{12} and {e} a{e} aa xxy y{i<=1}",
    "答え：B\n正解は「東京」です。がぎ\u304b\u3099 ²½Ⅷ一",
    "नमस्ते दुनिया กำลัง café cafe\u0301 _x\x1cy\x1d\u3000z\u00a0w",
    "foo boo o abcdcdcdb cc ca b abb\n\n [note] x",
    "  <ans> 3\n4 </ans>\t ",
    "STRASSE straße ẞ İıi K\u212a ſs",
    "[a:l]p] ^-] ああいい",
)


@pytest.fixture
def always_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine with the time limit match all texts, not only the long ones."""
    monkeypatch.setattr(
        "tenbin.sandbox.patterns._compile", tenbin.sandbox.patterns._compile.__wrapped__
    )
    monkeypatch.setattr("tenbin.sandbox.patterns.affordable_length", lambda tree: -1)


@pytest.mark.parametrize("source", PATTERNS)
@pytest.mark.usefixtures("always_limited")
def test_patterns_match_what_re_matches(source: str) -> None:
    ours, theirs = compile_pattern(source, "here"), re.compile(source)
    for text in TEXTS:
        assert ours.findall(text) == theirs.findall(text)
        assert ours.sub(r"<\g<0>>", text) == theirs.sub(r"<\g<0>>", text)
        assert ours.sub("", text, count=1) == theirs.sub("", text, count=1)
        for found, expected in (
            (ours.search(text), theirs.search(text)),
            (ours.fullmatch(text), theirs.fullmatch(text)),
        ):
            assert (found and (found.span(), found.groups())) == (
                expected and (expected.span(), expected.groups())
            )


_ATOMS = st.sampled_from(
    [
        r"\w",
        r"\s",
        r"\d",
        r"\W",
        r".",
        "a",
        "b",
        "1",
        " ",
        "あ",
        "[ab1]",
        r"[^a\s]",
        r"[\Wa]",
        r"\b",
    ]
)
_SOURCES = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["{1,2}", "?", "{2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        inner.map(lambda source: f"({source})"),
        inner.map(lambda source: f"(?={source})"),
    ),
    max_leaves=6,
)


@pytest.mark.usefixtures("always_limited")
@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(source=_SOURCES, text=st.text("ab1 あ\u3099_\n", max_size=12))
def test_random_patterns_match_what_re_matches(source: str, text: str) -> None:
    assert compile_pattern(source, "here").findall(text) == re.findall(source, text)


@pytest.mark.usefixtures("always_limited")
@pytest.mark.parametrize("source", [r"\w", r"\s", r"\d", r"[^\W\s]"])
def test_classes_hold_the_characters_that_they_hold_in_re(source: str) -> None:
    import unicodedata

    # Characters that this Python's tables do not know yet may be known to regex's.
    every = "".join(c for c in map(chr, range(0x110000)) if unicodedata.category(c) != "Cn")
    assert compile_pattern(source, "here").findall(every) == re.findall(source, every)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"(a+)+$", "a" * 4000 + "!"),
        (r"(a|aa)+$", "a" * 4000 + "!"),
        (r"(x+x+)+y", "x" * 4000),
        (r"(.*?,){25}P", "1," * 4000),
    ],
)
def test_a_pattern_that_backtracks_without_end_is_stopped(
    source: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenbin.sandbox.patterns.SECONDS", 0.05)
    pattern = compile_pattern(source, "task.yaml: regex_pattern")
    for method in (pattern.findall, pattern.search, lambda text: pattern.sub("", text)):
        with pytest.raises(PatternTooSlow) as caught:
            method(text)
        assert "task.yaml: regex_pattern" in caught.value.message
        assert repr(source) in caught.value.message


def test_the_limit_holds_outside_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenbin.sandbox.patterns.SECONDS", 0.05)
    raised: list[TaskError] = []

    def match() -> None:
        try:
            compile_pattern(r"(x+x+)+y", "here").search("x" * 4000)
        except TaskError as error:
            raised.append(error)

    thread = threading.Thread(target=match, daemon=True)
    thread.start()
    thread.join(60)
    assert len(raised) == 1


@pytest.mark.parametrize(
    "source",
    [
        "(",
        "a{2,1}",
        r"\p{L}",
        "x" * 10_001,
        "(((a{100}){100}){100}){100}",
        "a{99999999}",
        "a{99999999999999999999}",
        "(" * 4000 + ")" * 4000,
        5,
        None,
    ],
)
def test_a_pattern_that_cannot_be_used_is_one_error(source: str) -> None:
    with pytest.raises(TaskError, match=r"^task.yaml: x: "):
        compile_pattern(source, "task.yaml: x")


@pytest.mark.parametrize("replacement", [r"\9", r"\g<no>", "\\", r"\q"])
def test_a_replacement_that_does_not_fit_is_one_error(replacement: str) -> None:
    with pytest.raises(TaskError, match=r"^here: the replacement"):
        compile_pattern("(a)(b)?", "here").sub(replacement, "nothing of it")


@pytest.mark.usefixtures("always_limited")
def test_replacements_expand_as_in_re() -> None:
    for source, replacement in product(
        ["(a)(b)?", "(?P<x>a)(b)?"], [r"\1-\2", r"\n\\\1", r"\g<1>0", r"\x"[:1] + "t", "\\0", "あ"]
    ):
        assert compile_pattern(source, "here").sub(replacement, "ab a") == re.sub(
            source, replacement, "ab a"
        )


@pytest.mark.parametrize(
    ("source", "length"),
    [
        (r"\d", 10_000),
        (r"#### (\-?[0-9\.\,]+)", 1_000),
        (r"\b(Yes|No)\b", 10_000),
        (r"^\s+|\s+$", 1_000),
        (r"(a+)+$", -1),
        (r"(?:a|b+)*", -1),
        (r"(?:a{0,9}b{0,9}){25}", -1),
    ],
)
def test_re_matches_alone_where_it_is_surely_fast(source: str, length: int) -> None:
    allowed = affordable_length(parse(source, 0))
    assert allowed >= length if length > 0 else allowed <= 0


def test_the_worst_text_of_an_affordable_length_takes_few_steps() -> None:
    # Each way to divide the text among the three parts is tried before there is no match.
    source = r"a*a*a*b"
    length = affordable_length(parse(source, 0))
    assert 20 < length < 200
    assert re.search(source, "a" * length) is None


@pytest.mark.parametrize("source", [r"\s+", r"(\d+)", r"#### (\-?[0-9\.\,]+)", "a|b+", "[ab]{2,}"])
def test_a_repetition_at_the_end_is_linear_and_left_to_re(source: str) -> None:
    pattern = compile_pattern(source, "here")
    assert pattern._affordable > 1_000_000
    for text in (" " * 300_000 + "x", "1" * 300_000, "#### " * 60_000, "ab" * 150_000):
        assert pattern.findall(text) == re.findall(source, text)
        pattern.search(text), pattern.fullmatch(text), pattern.sub("", text)


@pytest.mark.parametrize("source", [r"\s+$", r"\s+x", r"(\s+)+", r"(?=\s+)", r"(\d+)\1"])
def test_a_repetition_that_something_follows_is_limited(source: str) -> None:
    assert compile_pattern(source, "here")._affordable < 10_000
