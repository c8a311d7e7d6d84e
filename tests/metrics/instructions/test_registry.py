"""Rows that cannot be checked are refused; tools are named, and refused where they are missing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import DataError, TaskError
from tenbin.metrics.instructions import (
    INSTRUCTIONS,
    LANGUAGES,
    Asked,
    Rules,
    check_asked,
    judge_instructions,
    loose_variants,
    tools,
    tools_of,
)


def asked_of(ids: Sequence[Any], kwargs: Sequence[Any], where: str) -> list[Asked]:
    return [check_asked(id, given, where) for id, given in zip(ids, kwargs, strict=True)]


def test_every_published_row_can_be_checked(real_data: Path) -> None:
    wanted = {"ja": (172, 226), "en": (541, 834), "es": (115, 137), "fr": (235, 345)}
    seen = set()
    for language, (rows, instructions) in wanted.items():
        with gzip.open(real_data / "m_ifeval" / language / "test.jsonl.gz", "rt") as file:
            found = [json.loads(line) for line in file]
        asked = [asked_of(one["instruction_id_list"], one["kwargs"], "row") for one in found]
        assert (len(found), sum(map(len, asked))) == (rows, instructions)
        seen |= {one.id for row in asked for one in row}
    assert seen == set(INSTRUCTIONS)


@pytest.mark.parametrize(
    ("id", "kwargs", "message"),
    [
        ("ja:letters:kanjis", {}, "row 7: unknown instruction 'ja:letters:kanjis'"),
        ("letters:kanji", {}, "row 7: unknown instruction"),
        (5, {}, "row 7: unknown instruction 5"),
        ("ja:letters:kanji", {"kanji_limit": 3}, "row 7: ja:letters:kanji needs relation"),
        (
            "ja:letters:kanji",
            {"kanji_limit": "3", "relation": "以上"},
            "kanji_limit of ja:letters:kanji must be a whole number from 0, not '3'",
        ),
        ("ja:letters:kanji", {"kanji_limit": 3, "relation": "at least"}, "must be a relation"),
        ("en:punctuation:no_comma", {"n": 1}, "en:punctuation:no_comma has no argument 'n'"),
        ("en:punctuation:no_comma", [], "must be a mapping"),
        ("en:keywords:existence", {"keywords": []}, "keywords of en:keywords:existence must be"),
        ("en:keywords:existence", {"keywords": ["a("]}, "not a valid regular expression"),
        ("en:keywords:letter_frequency",
         {"letter": "ab", "let_frequency": 1, "let_relation": "at least"}, "must be one character"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_is_refused(id: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        check_asked(id, kwargs, "row 7")
    assert message in error.value.message


def test_a_close_name_is_proposed() -> None:
    with pytest.raises(DataError) as error:
        check_asked("ja:letters:kanjis", {}, "row 7")
    assert "ja:letters:kanji" in error.value.hint


def test_nulls_are_no_arguments_and_english_ids_may_lack_the_language() -> None:
    asked = check_asked("punctuation:no_comma", {"num_words": None}, "row")
    assert (asked.id, asked.kwargs, asked.type) == (
        "en:punctuation:no_comma", {}, "punctuation:no_comma",
    )  # fmt: skip


def test_loose_variants() -> None:
    assert loose_variants("*a*\n b \n*c* *") == [
        "*a*\n b \n*c* *",
        "a\n b \nc ",
        "b \n*c* *",
        "*a*\n b",
        "b",
        "b \nc ",  # asterisks go after the white space at the ends, which stays as it is
        "a\n b",
        "b",
    ]
    assert loose_variants("one line")[2:] == [""] * 6


def test_each_instruction_may_use_another_variant() -> None:
    asked = asked_of(
        ["en:punctuation:no_comma", "en:startend:end_checker"], [{}, {"end_phrase": "b,"}], "row"
    )
    found = judge_instructions("a\nb,", asked, Rules("en"))
    assert [(one.strict, one.loose) for one in found] == [(False, True), (True, True)]


def test_what_is_no_text_follows_nothing() -> None:
    (found,) = judge_instructions(
        None, [check_asked("fr:punctuation:no_comma", {}, "")], Rules("fr")
    )
    assert (found.strict, found.loose) == (False, False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_tools_are_named_with_their_versions(language: str) -> None:
    found = tools_of(Rules(language))
    assert found["language"] == "langdetect 1.0.9 (seed 0)"
    wanted = "ja_sentence_segmenter 0.0.2" if language == "ja" else f"tenbin {language} sentences 1"
    assert found["sentences"].startswith(wanted)
    if language == "ja":
        assert found["nouns"] == "Janome 0.5.0"


@pytest.mark.parametrize(
    ("language", "module", "command"),
    [
        ("ja", "janome", "tenbin[instructions]"),
        ("en", "langdetect", "tenbin[instructions]"),
        ("en", "nltk", "nltk.downloader punkt_tab"),
        ("es", "spacy", "spacy download es_core_news_sm"),
    ],
)
def test_a_missing_tool_is_refused_with_the_command(
    language: str, module: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "find_spec", lambda name: None if name == module else object())
    rules = Rules(language, "published", published_tools=True)
    with pytest.raises(TaskError) as error:
        tools_of.__wrapped__(rules)
    assert command in error.value.hint


def test_verdicts_of_short_texts_do_not_change() -> None:
    asked = check_asked("en:language:response_language", {"language": "nl"}, "row")
    found = set()
    for _ in range(6):
        tools.detect_language.cache_clear()
        found.add(asked.passes("is it dat", Rules("en")))
    assert len(found) == 1
