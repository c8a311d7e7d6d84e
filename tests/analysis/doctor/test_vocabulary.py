"""Unknown characters and characters in bytes, counted by hand."""

from __future__ import annotations

from typing import Any

from tenbin.analysis.doctor.vocabulary import (
    Spelling,
    join_spelling,
    judge_spelling,
    measure_spelling,
)
from tests.analysis.doctor.written import prompt, reader


def measured(*texts: str, **options: Any) -> Spelling:
    opened = reader(**options)
    prompts = [prompt(text, "a", document=f"d{at}") for at, text in enumerate(texts)]
    return measure_spelling(
        "en",
        prompts,
        opened.tokenize(prompts),
        opened.vocabulary.unknown,
        opened.decode,
        opened.encode,
    )


def test_a_text_of_known_letters() -> None:
    found = measured("ab", "bcd", merges=["bc"])
    # a·b and bc·d
    assert (found.characters, found.tokens, found.unknown, found.broken) == (5, 4, 0, 0)
    assert found.characters_per_token == 1.25
    assert judge_spelling(found) == []


def test_unknown_characters_are_named() -> None:
    found = measured("abcdefgh駅", "ab")
    assert (found.tokens, found.unknown) == (11, 1)
    (finding,) = judge_spelling(found)
    assert (finding.code, finding.severity) == ("unknown_tokens", "warning")
    assert (finding.count, finding.n) == (1, 11)
    assert finding.examples[0].document == "d0" and finding.examples[0].seen == "unknown: 駅"


def test_the_more_unknown_the_graver() -> None:
    assert judge_spelling(measured("ab駅"))[0].severity == "problem"
    assert judge_spelling(measured("a" * 200 + "駅"))[0].severity == "note"


def test_characters_in_bytes() -> None:
    # A kanji is three bytes, none of which is a character; \t is a whole character in a byte.
    found = measured("a駅b\t", byte_fallback=True)
    assert (found.characters, found.tokens, found.unknown, found.broken) == (4, 6, 0, 3)
    (finding,) = judge_spelling(found)
    assert (finding.code, finding.severity) == ("broken_characters", "note")
    assert finding.message == "50% of 6 tokens are parts of characters, 0.67 characters a token"


def test_cells_of_a_language_add_up() -> None:
    joined = join_spelling("en", [measured("ab"), measured("cd駅")])
    assert (joined.documents, joined.characters, joined.tokens, joined.unknown) == (2, 5, 5, 1)
    assert join_spelling("en", []).characters_per_token == 0.0
