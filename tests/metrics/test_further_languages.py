"""Answers in languages besides the ten, read by the phrases of their own language and English."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenbin.errors import TaskError
from tenbin.metrics.extraction.explain import explain_flexible
from tenbin.metrics.extraction.flexible import read_flexible
from tenbin.metrics.extraction.phrases import (
    KEYS,
    LANGUAGES,
    check_literals,
    further_languages,
    load_literals,
    native_letters,
    pool_of,
    without_affixes,
)
from tenbin.tasks.registry import load_registry
from tests.metrics.watchdog import watchdog

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "extraction_cases_further.yaml").read_text(encoding="utf-8")
)
BY_LANGUAGE = {
    language: list(cases)
    for language, cases in groupby(
        sorted(CASES, key=lambda case: case["language"]), key=lambda case: case["language"]
    )
}
FILES = sorted(set(further_languages().values()) - set(LANGUAGES))
WITHOUT_PHRASES = {"arb_Latn", "bam_Latn", "fuv_Latn", "kac_Latn", "luo_Latn", "shn_Mymr"}
WITHOUT_PHRASES |= {"wol_Latn"}


@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_reads_as_a_human_reader(language: str) -> None:
    for case in BY_LANGUAGE[language]:
        text, expected = case["text"], case["expected"]
        assert read_flexible(text, language, 4) == expected, (case["note"], text)
        assert explain_flexible(text, language, 4)[-1].text == expected, "what is told is done"


def test_cases_cover_every_language_and_are_hard() -> None:
    read = {further_languages().get(language) for language in BY_LANGUAGE}
    assert read >= set(FILES)
    assert len(CASES) >= 600
    assert sum(case["note"].startswith("trap:") for case in CASES) * 2 >= len(CASES)
    assert max(Counter((case["language"], case["text"]) for case in CASES).values()) == 1


@pytest.mark.parametrize("language", FILES)
def test_a_letter_alone_is_read_in_every_dress(language: str) -> None:
    for letter in "ABCD":
        for form in ("{}", "({})", "**{}**", "「{}」", "{}.", "{})", "[{}]", r"\boxed{{{}}}"):
            assert read_flexible(form.format(letter), language, 4) == letter, form


def test_every_language_that_is_asked_for_letters_has_phrases() -> None:
    registry = load_registry()
    asked = {
        summary.language
        for versions in registry.tasks.values()
        for summary in versions.values()
        if summary.group
        in ("belebele_gen", "global_mmlu_gen", "xnli_gen", "xcopa_gen", "pawsx_gen")
    }
    assert asked - set(LANGUAGES) - set(further_languages()) == WITHOUT_PHRASES


def test_prompts_of_the_ten_languages_are_read_by_all_ten() -> None:
    for language in (*LANGUAGES, "xx", "wol_Latn", "acm_Arab"):
        assert pool_of(language, "正确答案是B") == LANGUAGES
    assert native_letters("acm_Arab") == native_letters("ar")


def test_other_prompts_are_read_by_their_own_phrases_and_english_ones() -> None:
    assert pool_of("tur_Latn", "Cevap B") == ("tr", "en")
    assert pool_of("qu", "B") == ("qu", "en", "es")
    assert pool_of("sw", "答案是B") == ("sw", "en", "zh")
    # "nem" denies in Hungarian and says nothing in Turkish.
    assert read_flexible("nem A", "tr", 4) == "A"
    assert read_flexible("nem A", "hun_Latn", 4) is None


def test_what_a_language_writes_to_a_letter_is_taken_off() -> None:
    assert without_affixes("Cevap B'dir, A'dan iyi.", ("tr", "en")) == "Cevap B, A'dan iyi."
    assert without_affixes("ngu-B, i-DNA", ("zu", "en")) == "ngu B, i-DNA"
    assert without_affixes("D'après B-dir", LANGUAGES) == "D'après B-dir"


def test_a_word_within_a_word_is_no_phrase() -> None:
    # گزینه (option) ends like نه (no), мне (to me) like не (not).
    assert read_flexible("گزینه B", "fa", 4) == "B"
    assert read_flexible("Ближе мне B", "ru", 4) == "B"


@pytest.mark.parametrize("language", FILES)
def test_rows_of_fillers_are_read_in_one_way(language: str) -> None:
    with watchdog():
        for filler in load_literals(language)["fillers"]:
            read_flexible(f"B {' '.join([filler] * 40)} x B", language, 4)


def test_a_wrong_file_fails_loudly() -> None:
    with pytest.raises(TaskError, match="unknown keys"):
        check_literals("tr", {"language": "tr", "nouns": []}, further=True)
    with pytest.raises(TaskError, match="list of strings"):
        check_literals("tr", {"language": "tr", "fillers": [False]}, further=True)
    assert set(check_literals("tr", {"language": "tr"}, further=True)) > set(KEYS)
